"""`python -m rewound.http` is `rewound`."""  # noqa: A005

from rewound.http.cli import main

if __name__ == "__main__":
    main()
