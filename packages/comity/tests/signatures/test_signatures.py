"""Requests are signed as RFC 9421 and Web Bot Auth say, and what was changed on the way is noticed."""

import json
import pickle
import stat
from base64 import b64encode
from functools import partial
from pathlib import Path

import pytest
from growth import grows_in_proportion
from hypothesis import given
from hypothesis import strategies as st

from comity.errors import InvalidSetting
from comity.signatures import PublicKey, Refused, Signed, Signer, SigningKey, signatures_of
from comity.signatures.base import base, joined, structured
from comity.signatures.keys import decoded
from comity.signatures.verifying import MAX_COVERED_COMPONENTS, MAX_FIELD_CHARACTERS

TEST_KEY = decoded("n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU")
"""RFC 9421, B.1.4: `test-key-ed25519`, known to everybody."""
PRIVATE = bytes(range(32))
NOW = 1_800_000_000.0
URL = "https://example.com/path/to/resource?a=1"
AGENT = "https://bot.example"


def signed(key: bytes = PRIVATE, method: str = "GET", url: str = URL, **how: str) -> dict[str, str]:
    return Signer(SigningKey(key), AGENT, **how).headers(method, url, NOW)  # type: ignore[arg-type]


def one(headers: dict[str, str], method: str = "GET", url: str = URL) -> Signed:
    (found,) = signatures_of(method, url, headers)
    if isinstance(found, Refused):
        raise found
    return found


def test_the_standards_own_signature_is_made_to_the_byte() -> None:
    """RFC 9421, B.2.6: Ed25519 is deterministic, so the example can be compared."""
    fields = {
        "date": "Tue, 20 Apr 2021 02:07:55 GMT",
        "content-type": "application/json",
        "content-length": "18",
    }
    covered = [(name, {}) for name in ("date", "@method", "@path", "@authority", "content-type", "content-length")]
    parameters = {"created": 1618884473, "keyid": "test-key-ed25519"}
    data = base("POST", "https://example.com/foo?param=Value&Pet=dog", fields, covered, parameters)
    made = b64encode(SigningKey(TEST_KEY).sign(data)).decode()
    assert made == "wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw=="


def test_the_thumbprint_is_that_of_the_standard() -> None:
    assert SigningKey(TEST_KEY).public.thumbprint == "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"


@pytest.mark.parametrize(
    ("covered", "nonce", "agent", "signature"),
    [
        (
            '("@authority")',
            "zIW8+cdmA3vdYagbxojpONwa/l0EKJ/O3/wD486VvsQjO/RxPaSt6ZxvQaMcQzNnqKN/mQ6hpGiFro2L2qkz5A==",
            None,
            "QKN4fTdIYfh82fvoZCQiQA1weuozfCS/Led2zTMbewMMqH8PI2Wsy/5c4ao6B6D09nraNQdBNOADg8aM1MqfCg==",
        ),
        (
            '("@authority" "signature-agent";key="agent2")',
            "n9p433xm+NJ3ph3upfBIGmsuwHw387YV7Q/F+6BSpGCVjYCqQw6rznNA8PVVLySrAWsv0hQtFioQb6E1YsauiA==",
            'agent2="https://signature-agent.test"',
            "RdNFx5Bj6au3YgAMQL/RzmUlZE8QZLIaXGRpw985hWnwPfMxT228NMk6ehRS1PSl4e8PhbNZACSanGdhEwYCCg==",
        ),
    ],
)
def test_the_drafts_vectors_are_made_to_the_byte(covered: str, nonce: str, agent: str | None, signature: str) -> None:
    text = (
        f'sig={covered};created=1735689600;keyid="poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U";alg="ed25519"'
        f';expires=4889289600;nonce="{nonce}";tag="web-bot-auth"'
    )
    components, parameters = structured(text)["sig"]
    fields = {} if agent is None else {"signature-agent": agent}
    data = base("GET", "https://example.com/path/to/resource", fields, components, parameters)
    assert b64encode(SigningKey(TEST_KEY).sign(data)).decode() == signature


@pytest.mark.parametrize("form", ["dictionary", "string"])
def test_what_is_signed_verifies_in_both_forms_of_the_field(form: str) -> None:
    found = one(signed(form=form))
    found.check(SigningKey(PRIVATE).public, NOW + 1)
    assert found.url == "https://bot.example/.well-known/http-message-signatures-directory"
    assert found.expires - found.created == 60
    assert found.nonce


def test_another_verifier_s_library_reads_our_signature() -> None:
    """By http-message-signatures, which shares no code with this."""
    peer = pytest.importorskip("http_message_signatures")
    algorithms = pytest.importorskip("http_message_signatures.algorithms")
    requests = pytest.importorskip("requests")
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    class Keys(peer.HTTPSignatureKeyResolver):  # type: ignore[name-defined,misc]
        def resolve_public_key(self, key_id: str) -> object:
            assert key_id == SigningKey(PRIVATE).public.thumbprint
            return Ed25519PublicKey.from_public_bytes(SigningKey(PRIVATE).public.x)

    class Components(peer.HTTPSignatureComponentResolver):  # type: ignore[name-defined,misc]
        pass

    import time

    headers = Signer(SigningKey(PRIVATE), AGENT).headers("GET", URL, time.time())
    message = requests.Request("GET", URL, headers=headers).prepare()
    verifier = peer.HTTPMessageVerifier(
        signature_algorithm=algorithms.ED25519, key_resolver=Keys(), component_resolver_class=Components
    )
    (result,) = verifier.verify(message)
    assert '"signature-agent";key="sig1"' in result.covered_components


def changed(name: str, old: str, new: str) -> dict[str, str]:
    headers = signed()
    assert old in headers[name]
    headers[name] = headers[name].replace(old, new, 1)
    return headers


@pytest.mark.parametrize(
    ("method", "url", "headers"),
    [
        ("HEAD", URL, signed()),
        ("GET", "https://example.com/other", signed()),
        ("GET", "https://example.org/path/to/resource", signed()),
        ("GET", URL, changed("Signature-Agent", "bot.example", "bat.example")),
        ("GET", URL, changed("Signature-Input", "created=18", "created=17")),
        ("GET", URL, changed("Signature-Input", "expires=18000000", "expires=18000001")),
        ("GET", URL, changed("Signature-Input", 'nonce="', 'nonce="A')),
        ("GET", URL, changed("Signature-Input", 'keyid="', 'keyid="A')),
        ("GET", URL, changed("Signature-Input", '"@path" ', "")),
        ("GET", URL, changed("Signature-Input", '"@method" "@path"', '"@path" "@method"')),
        ("GET", URL, changed("Signature-Input", ";tag=", ';alg="ed25519";tag=')),
        ("GET", URL, signed() | {"Signature": signed(bytes(32))["Signature"]}),
    ],
    ids="method path authority agent created expires nonce keyid fewer order parameter signature".split(),
)
def test_each_part_that_is_changed_once_breaks_the_signature(method: str, url: str, headers: dict[str, str]) -> None:
    with pytest.raises(Refused):
        one(headers, method, url).check(SigningKey(PRIVATE).public, NOW + 1)


def test_a_line_end_in_a_field_makes_no_line_of_the_base() -> None:
    """RFC 9421, 2.5: else what one field holds could stand for another component."""
    headers = signed() | {"X-A": 'a\n"@method": GET'}
    headers["Signature-Input"] = headers["Signature-Input"].replace('"@path"', '"@path" "x-a"')
    with pytest.raises(Refused, match="has a line end"):
        one(headers)


def test_the_query_is_not_covered_and_says_so() -> None:
    """Intermediaries order queries anew (draft, 3.2), so it is left out."""
    found = one(signed(), url="https://example.com/path/to/resource?b=2")
    found.check(SigningKey(PRIVATE).public, NOW + 1)
    assert found.covered == ("@authority", "@method", "@path", "signature-agent;key=sig1")


@pytest.mark.parametrize(
    ("field", "why"),
    [
        ("", "has no Signature-Agent"),
        ('other="https://bot.example"', "no member sig1|has no member"),
        ('sig1="http://bot.example"', "not an https URL"),
        ('sig1="https://bot.example/page"', "where an origin is expected"),
        ('sig1="https://bot.example";type=other', "type 'other'"),
        ("sig1=1", "not an https URL"),
        ("((", "has no member"),
    ],
)
def test_a_field_that_names_no_directory_attributes_nothing(field: str, why: str) -> None:
    headers = signed() | {"Signature-Agent": field}
    with pytest.raises(Refused, match=why):
        one(headers)


def test_a_member_that_is_not_covered_attributes_nothing() -> None:
    headers = signed()
    headers["Signature-Input"] = headers["Signature-Input"].replace(' "signature-agent";key="sig1"', "")
    with pytest.raises(Refused, match="does not cover its member of Signature-Agent"):
        one(headers)


def test_a_signature_holds_for_its_minute_alone() -> None:
    found, key = one(signed()), SigningKey(PRIVATE).public
    found.check(key, NOW + 59)
    with pytest.raises(Refused, match="expired"):
        found.check(key, NOW + 60)
    with pytest.raises(Refused, match="in the future"):
        found.check(key, NOW - 31)


def test_a_key_that_a_standard_prints_is_nobody_s() -> None:
    found = one(signed(TEST_KEY))
    with pytest.raises(Refused, match="printed in a standard"):
        found.check(SigningKey(TEST_KEY).public, NOW)


def test_signatures_for_other_purposes_are_not_looked_at() -> None:
    headers = signed()
    headers["Signature-Input"] = headers["Signature-Input"].replace("web-bot-auth", "payments")
    assert signatures_of("GET", URL, headers) == []
    assert signatures_of("GET", URL, {}) == []


def claim(covered: str, agent: str = 's="https://bot.example"', **fields: str) -> Signed | Refused:
    """A signature that claims to cover components."""
    text = f's=({covered});created=1800000000;expires=1800000060;keyid="x";tag="web-bot-auth"'
    headers = {"Signature-Input": text, "Signature": "s=:AAAA:", "Signature-Agent": agent, **fields}
    (found,) = signatures_of("GET", URL, headers)
    return found


@pytest.mark.parametrize(
    "component", ["1", "1.5", "?1", ":AAAA:", "tok", "@1659578233", '%"f%c3%bc"', '"x";key=1', '"x";key=tok', '"x";key']
)
def test_a_component_whose_name_or_key_is_no_string_is_refused_in_words(component: str) -> None:
    found = claim(f'"@authority" "signature-agent";key="s" {component}', x="s=1")
    assert isinstance(found, Refused)
    assert "is not a string" in str(found)


def test_a_field_is_read_once_however_many_of_its_members_are_covered(monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    monkeypatch.setattr("comity.signatures.base.structured", lambda text: (read.append(text), structured(text))[1])
    names = [f"k{number}" for number in range(MAX_COVERED_COMPONENTS - 1)]
    agent = ", ".join(f'{name}="https://bot.example"' for name in names)
    covered = " ".join(f'"signature-agent";key="{name}"' for name in names)
    assert isinstance(claim(f'"@authority" {covered}', agent), Signed)
    assert len(read) == 1


def test_what_costs_more_to_read_than_a_signature_needs_is_refused() -> None:
    covered = " ".join(f'"x-{number}"' for number in range(MAX_COVERED_COMPONENTS))
    found = claim(f'"@authority" "signature-agent";key="s" {covered}')
    assert "more than 32 components" in str(found)
    with pytest.raises(Refused, match="signature-agent has more than 16,384 characters"):
        claim('"@authority" "signature-agent";key="s"', 's="https://bot.example", ' + "a, " * MAX_FIELD_CHARACTERS)
    long = claim('"@authority" "signature-agent";key="s"', f's="https://bot.example/{"a" * 2_048}";type=jwks_uri')
    assert "at most 2,048 characters" in str(long)


def test_fields_of_one_name_are_joined_in_linear_time() -> None:
    grows_in_proportion(lambda size: partial(joined, [("Signature-Agent", "a")] * size), 16_000)


@given(st.text(max_size=80), st.text(max_size=80), st.text(max_size=80))
def test_whatever_the_fields_hold_is_refused_in_words(agent: str, given_input: str, signature: str) -> None:
    headers = {"signature-agent": agent, "signature-input": f'sig1=("@authority"){given_input}', "signature": signature}
    try:
        found = signatures_of("GET", URL, headers)
    except Refused:
        return
    assert all(isinstance(each, Refused) for each in found)


def test_a_key_is_kept_from_others_and_never_overwritten_or_shown(tmp_path: Path) -> None:
    path = tmp_path / "key.json"
    key = SigningKey.made()
    key.write(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    private = json.loads(path.read_text())["d"]
    assert private not in repr(key)
    with pytest.raises(TypeError):
        pickle.dumps(key)
    with pytest.raises(FileExistsError):
        SigningKey.made().write(path)
    assert SigningKey.read(path).public.thumbprint == key.public.thumbprint
    path.chmod(0o644)
    with pytest.raises(InvalidSetting, match="can be read by others") as failed:
        SigningKey.read(path)
    assert private not in str(failed.value)


def test_a_published_key_reads_back_and_what_is_no_key_is_refused() -> None:
    key = SigningKey(PRIVATE).public
    assert PublicKey.from_jwk(key.jwk()).thumbprint == key.thumbprint
    for wrong in ({}, {"kty": "RSA"}, key.jwk() | {"x": "AAAA"}, key.jwk() | {"x": "+"}, key.jwk() | {"exp": "1"}):
        with pytest.raises(ValueError, match=r"key|base64url|seconds"):
            PublicKey.from_jwk(wrong)
