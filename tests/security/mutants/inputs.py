"""Mutants of the rows R26 to R40: what no client in its right mind sends."""

from tests.security.mutants.mutant import Mutant

_LOADS = "        value = orjson.loads(raw)\n    except orjson.JSONDecodeError:\n"
_TOO_LARGE = "    if announced is not None and announced.isdigit() and int(announced) > max_body:"
_NULS = "            failures.update(schema.nul_failures(content))\n"

MUTANTS = (
    Mutant(
        "R26",
        "JSON is JSON and no more",
        "server/pipeline/body.py",
        _LOADS,
        '        value = __import__("json").loads(raw)\n    except (ValueError, RecursionError):\n',
    ),
    Mutant(
        "R26",
        "what cannot be read is refused",
        "server/pipeline/body.py",
        "    except orjson.JSONDecodeError:\n        raise errors.BadRequest from None\n",
        "    except orjson.JSONDecodeError:\n        return {}\n",
    ),
    Mutant(
        "R26",
        "a body is an object",
        "server/pipeline/body.py",
        "    return _parse_json(raw) if media_type == JSON else _parse_form(raw)",
        "    value = _parse_json(raw) if media_type == JSON else _parse_form(raw)\n"
        "    return value if isinstance(value, dict) else {}",
    ),
    Mutant(
        "R26",
        "an empty body is no fields",
        "server/pipeline/body.py",
        "    if not raw:\n        return {}\n",
        "",
    ),
    Mutant(
        "R27", "depth has a limit", "server/pipeline/body.py", "MAX_DEPTH = 1000\n", "MAX_DEPTH = 100_000\n"
    ),
    Mutant(
        "R27",
        "depth is measured without recursion",
        "server/pipeline/body.py",
        _LOADS,
        '        value = __import__("json").loads(raw)\n    except orjson.JSONDecodeError:\n',
    ),
    Mutant(
        "R27",
        "a field may not be deep",
        "server/pipeline/validation.py",
        "            return {} if _fits(validator, value) else {self.name(name): messages.TOO_DEEP}",
        "            return {self.name(name): messages.describe(next(validator.iter_errors(value)), schema)}",
    ),
    Mutant(
        "R28",
        "a body has a limit",
        "server/service_groups.py",
        "    max_body: Size = Field(default=65536,",
        "    max_body: Size = Field(default=2**24,",
    ),
    Mutant(
        "R28",
        "of a key sent twice the last counts",
        "server/pipeline/body.py",
        _LOADS,
        '        value = __import__("json").loads(raw, object_pairs_hook=lambda pairs: dict(reversed(pairs)))\n'
        "    except (ValueError, RecursionError):\n",
    ),
    Mutant(
        "R29",
        "a length that is too much is refused at once",
        "server/pipeline/sizes.py",
        _TOO_LARGE,
        "    if False:",
    ),
    Mutant(
        "R29",
        "chunks without end are cut off",
        "server/pipeline/body.py",
        "        if size > max_body:",
        "        if False:",
    ),
    Mutant(
        "R29",
        "a body that was cut off is not carried out",
        "server/pipeline/body.py",
        '        if message["type"] == "http.disconnect":\n            raise ClientGoneError\n',
        '        if message["type"] == "http.disconnect":\n            break\n',
    ),
    Mutant(
        "R30",
        "no coding is accepted",
        "server/pipeline/body.py",
        '    if any(coding.strip() not in (b"identity", b"") for coding in codings):',
        "    if False:",
    ),
    Mutant(
        "R30",
        "no coding is undone",
        "server/pipeline/body.py",
        '    if any(coding.strip() not in (b"identity", b"") for coding in codings):\n'
        "        raise errors.UnsupportedMediaType\n",
        "    import gzip\n"
        '    if any(coding.strip() == b"gzip" for coding in codings) and raw.startswith(b"\\x1f\\x8b"):\n'
        "        raw = gzip.decompress(raw)\n",
    ),
    Mutant(
        "R31",
        "a body is UTF-8",
        "server/pipeline/body.py",
        _LOADS,
        '        value = orjson.loads(raw.decode("utf-8", "replace"))\n    except orjson.JSONDecodeError:\n',
    ),
    Mutant(
        "R31",
        "a body is not guessed to be Latin-1",
        "server/pipeline/body.py",
        _LOADS,
        '        value = orjson.loads(raw.decode("latin-1"))\n    except orjson.JSONDecodeError:\n',
    ),
    Mutant(
        "R31",
        "no other encoding is guessed",
        "server/pipeline/body.py",
        _LOADS,
        '        value = orjson.loads(raw.decode(__import__("json").detect_encoding(raw), "replace"))\n'
        "    except orjson.JSONDecodeError:\n",
    ),
    Mutant(
        "R31",
        "no other charset may be named",
        "server/pipeline/body.py",
        '    if not charsets <= {"utf-8"} or ("charset" in found[2].lower() and not charsets):',
        "    if False:",
    ),
    Mutant("R32", "NUL is refused in every field", "server/pipeline/calling.py", _NULS, "            pass\n"),
    Mutant(
        "R32",
        "NUL is refused and not taken out",
        "server/pipeline/calling.py",
        _NULS,
        "            clean = {key: item.replace('\\0', '') for key, item in content.items() if isinstance(item, str)}\n"
        "            content.update(clean)\n",
    ),
    Mutant(
        "R32",
        "NUL is refused in every parameter",
        "server/pipeline/parameters.py",
        '        if "\\0" in text and not self.takes_any_text:\n',
        '        text = text.replace("\\0", "")\n        if False:\n',
    ),
    Mutant(
        "R33",
        "a lone surrogate is refused",
        "server/pipeline/body.py",
        _LOADS,
        '        value = __import__("json").loads(raw)\n    except (ValueError, RecursionError):\n',
    ),
    Mutant(
        "R33",
        "a lone surrogate is refused and not replaced",
        "server/pipeline/body.py",
        _LOADS,
        '        value = orjson.loads(re.sub(rb"\\\\u[dD][89a-fA-F][0-9a-fA-F]{2}", b"?", raw))\n'
        "    except orjson.JSONDecodeError:\n",
    ),
    Mutant(
        "R33",
        "a header that is no UTF-8 is read all the same",
        "server/addresses.py",
        'raw.decode("utf-8", "replace")',
        'raw.decode("utf-8", "surrogateescape")',
    ),
    Mutant(
        "R34",
        "names have a length",
        "openapi/components/schemas.yaml",
        "        embeddings, overrides or isolates of text direction.\n      type: string\n      maxLength: 256\n",
        "        embeddings, overrides or isolates of text direction.\n      type: string\n      maxLength: 65536\n",
    ),
    Mutant(
        "R34",
        "a User-Agent is cut",
        "server/addresses.py",
        "LONGEST_USER_AGENT = 512\n",
        "LONGEST_USER_AGENT = 51_200\n",
    ),
    Mutant(
        "R34",
        "a target has a length",
        "server/pipeline/sizes.py",
        "    if target > MAX_TARGET:",
        "    if False:",
    ),
    Mutant(
        "R34",
        "headers have a length",
        "server/pipeline/sizes.py",
        "    if head.size() > MAX_HEADERS:",
        "    if False:",
    ),
    Mutant(
        "R35",
        "what is too long for a new password is not brought into its normal form",
        "domain/new_password.py",
        "    if len(password) > LONGEST_PASSWORD:\n        raise PasswordTooLong\n",
        "",
    ),
    Mutant(
        "R35",
        "what is too long for a password is not even compared",
        "server/hashing.py",
        "        if len(password) > LONGEST_PASSWORD:\n            return False\n",
        "",
    ),
    Mutant(
        "R35",
        "names are stored as they were typed",
        "domain/users.py",
        "    ctx.db.file(command, whose=caller.id, **changes, updated_at=ctx.now)\n",
        "    from unicodedata import normalize\n"
        '    changes = {key: value and normalize("NFKC", value)[:256] for key, value in changes.items()}\n'
        "    ctx.db.file(command, whose=caller.id, **changes, updated_at=ctx.now)\n",
    ),
    Mutant(
        "R36",
        "a number is no text",
        "server/pipeline/calling.py",
        "        schema = self.schema or _ANY_OBJECT\n",
        "        schema = self.schema or _ANY_OBJECT\n"
        "        if isinstance(content, dict):\n"
        "            plain = {key: str(item) for key, item in content.items() if type(item) in (int, float)}\n"
        "            content.update(plain)\n",
    ),
    Mutant(
        "R36",
        "null is not absent",
        "server/pipeline/calling.py",
        "        schema = self.schema or _ANY_OBJECT\n",
        "        schema = self.schema or _ANY_OBJECT\n"
        "        if isinstance(content, dict):\n"
        "            for key in [key for key, item in content.items() if item is None]:\n"
        "                del content[key]\n",
    ),
    Mutant(
        "R36",
        "a complaint names its field",
        "server/pipeline/validation.py",
        '        return f"{self._place}.{field}" if field else self._place',
        "        return self._place",
    ),
    Mutant(
        "R37",
        "a request has to arrive in time",
        "server/protocol.py",
        "        elif self._is_in_head() or (self.cycle is not None and self.cycle.more_body):\n"
        "            self._refuse(errors.RequestTimeout())\n",
        "        elif self._is_in_head() or (self.cycle is not None and self.cycle.more_body):\n            pass\n",
    ),
    Mutant(
        "R37",
        "a byte gains no time",
        "server/protocol.py",
        "        self._idle += len(data)\n",
        "        self._stop_clock()\n        self._idle += len(data)\n",
    ),
    Mutant(
        "R37",
        "a silent connection is closed",
        "server/protocol.py",
        "        else:\n            self.transport.close()\n\n    def _refuse",
        "\n    def _refuse",
    ),
    Mutant(
        "R38",
        "no connection stays that nobody uses",
        "server/protocol.py",
        "        else:\n            self.transport.close()\n\n    def _refuse",
        "\n    def _refuse",
    ),
    Mutant(
        "R39",
        "a request names one host",
        "server/pipeline/sizes.py",
        '    if scope["http_version"] == "1.1" and not head.occurs_once(b"host"):',
        "    if False:",
    ),
    Mutant(
        "R39",
        "HEAD follows no link",
        "server/pipeline/routing.py",
        '        if method == "GET" and operation.answers_head:',
        '        if method == "GET":',
    ),
    Mutant(
        "R39",
        "OPTIONS follows no link",
        "server/pipeline/pipeline.py",
        '        if scope["method"] == "OPTIONS":',
        '        if scope["method"] == "OPTION":',
    ),
    Mutant(
        "R39",
        "a method that is not there is told which are",
        "server/pipeline/routing.py",
        '            raise HTTPException(405, headers={"Allow": self.allow})',
        "            raise HTTPException(405)",
    ),
    Mutant(
        "R39",
        "an encoded separator is none of ours",
        "server/pipeline/routing.py",
        '    if raw_path.find(b"%") >= 0 and _ENCODED_SEPARATOR.search(raw_path):',
        "    if False:",
    ),
    Mutant(
        "R39",
        "what is no HTTP is refused in the form of every error",
        "server/protocol.py",
        '        self._refuse(errors.BadRequest("Invalid HTTP request"))\n\n    def _read_in_pieces',
        "        super().send_400_response(msg)\n\n    def _read_in_pieces",
    ),
    Mutant(
        "R39",
        "what cannot be read waits for the answers before it",
        "server/protocol.py",
        "        if self._is_behind():\n            self._refuse_later(refusal)\n            return\n",
        "",
    ),
    Mutant(
        "R39",
        "a body comes in no other coding than chunked",
        "server/protocol.py",
        "        heads.check_coding(self.headers, version)\n",
        "",
    ),
    Mutant(
        "R40",
        "an unknown path is answered as JSON",
        "server/errors.py",
        'CONTENT_TYPE: Header = (b"content-type", b"application/json")',
        'CONTENT_TYPE: Header = (b"content-type", b"text/plain")',
    ),
    Mutant(
        "R40",
        "paths match exactly",
        "server/pipeline/routing.py",
        '        place = self._fixed.get(scope["path"])\n',
        '        place = self._fixed.get(scope["path"].lower().rstrip("/ "))\n',
    ),
    Mutant(
        "R40",
        "unknown parameters are ignored",
        "server/pipeline/parameters.py",
        "            if field is None or field not in self.converters:\n                continue\n",
        "            if field is None or field not in self.converters:\n"
        '                failures["query"] = messages.WRONG_FORM\n'
        "                continue\n",
    ),
)
