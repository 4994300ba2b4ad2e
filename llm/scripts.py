"""Clauses in scripts whose grammar the rules do not know: told apart from talk by a few marks."""

import re

# Kana, Han, Hangul, Thai.
_OTHER = re.compile(r"[\u0e00-\u0e7f\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_LATIN = re.compile(r"[A-Za-z]")
_ASKS = re.compile(
    r"[?？]|[吗呢么]$|か$|(?:ですか|ますか|까요?|나요|ไหม|หรือเปล่า|อะไร|ที่ไหน|เมื่อไหร่)$|什么|为什么|怎么|哪里|谁"
    r"|なぜ|どこ|誰|何ですか|무엇|왜|어디"
)
_TALK = re.compile(
    r"你好|您好|谢谢|再见|早上好|晚安|こんにちは|こんばんは|おはよう|ありがとう|さようなら|안녕|감사|고마워|สวัสดี|ขอบคุณ|ลาก่อน"
)
_ASKED_FOR = re.compile(r"^请|^帮|ください|てくれ|教えて|주세요|줘$|해라$|^ช่วย|กรุณา|^โปรด")
_THOUGHT = re.compile(r"如果|也许|可能|要是|もし|かもしれ|たら|만약|아마|ถ้า|อาจ|บางที")
_QUOTED = re.compile(r"[「『“\"].{2,}[」』”\"]|说[：:，]|と言|って言|다고 (?:했|말)|บอกว่า|พูดว่า")


def is_other_script(text: str) -> bool:
    """Whether most letters are of one of these scripts."""
    other = len(_OTHER.findall(text))
    return other > 2 and other * 2 > len(_LATIN.findall(text))


def states_in_other_script(text: str, whole: str) -> bool:
    """Whether it could be a statement. `whole` still has its end mark."""
    if len(text.strip()) < 4 or _ASKS.search(whole.rstrip("。.!！ ")):
        return False
    return not any(pattern.search(text) for pattern in (_TALK, _ASKED_FOR, _THOUGHT, _QUOTED))
