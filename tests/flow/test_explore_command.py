"""`skipline explore`: only this machine, only who has the token, the numbers of `skipline run`."""

import json
import re
import threading
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path

import pytest

from command_line import Skipline
from skipline import _core
from skipline.explorer import page, server

SCENARIO = "experiments/ddio-bench/l2fwd.toml"
SETTINGS = [["run.batch_packets", "512"], ["run.min_batches", "10"], ["run.max_batches", "10"]]
TIMES = re.compile(r'"(wall_s|line_ops_per_s|real_time_factor)":[-+.e\d]+')


@pytest.fixture
def serving() -> Iterator[server.Explorer]:
    with server.started() as opened:
        thread = threading.Thread(target=opened.serve_forever)
        thread.start()
        yield opened
        opened.shutdown()
        thread.join()


def ask(
    serving: server.Explorer,
    path: str,
    body: str | bytes | None = None,
    token: str | None = None,
    host: str | None = None,
) -> tuple[int, bytes]:
    connection = HTTPConnection(server.HOST, serving.server_port, timeout=60)
    headers = {"Host": host or f"{server.HOST}:{serving.server_port}"}
    if body is not None:
        headers["X-Skipline-Token"] = serving.token if token is None else token
    connection.request("GET" if body is None else "POST", path, body, headers)
    answer: HTTPResponse = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, content


def test_a_run_comes_line_by_line_and_is_that_of_skipline_run(serving: server.Explorer) -> None:
    request = {"file": SCENARIO, "settings": SETTINGS, "seed": 3}
    status, content = ask(serving, "/run", json.dumps(request))
    lines = [json.loads(line) for line in content.splitlines()]
    assert status == 200
    assert lines[0]["scenario"]["title"] and lines[0]["platform"]["llc_ways"] == 11
    assert {line["state"] for line in lines[1:-1]} <= {"under_way", "batch"}
    assert lines[-1]["state"] == "ended"
    expected = _core.run(SCENARIO, [(key, value) for key, value in SETTINGS], 3)
    assert TIMES.sub("", lines[-1]["text"]) == TIMES.sub("", expected)
    (ways,) = lines[-1]["llc"]["sockets"]
    assert len(ways) == 11
    assert all(sum(map(sum, way)) <= lines[-1]["llc"]["lines_of_way"] for way in ways)
    assert sum(sum(unread_and_read) for way in ways for unread_and_read in way) > 0


def test_bad_input_is_refused_with_its_key(serving: server.Explorer) -> None:
    request = {"file": SCENARIO, "settings": [["cores", "0"]], "seed": 1}
    _, content = ask(serving, "/run", json.dumps(request))
    (line,) = content.splitlines()
    refused = json.loads(line)
    assert refused["state"] == "refused" and refused["error"]["key"] == "cores"
    assert "allowed: 1" in refused["error"]["message"]


@pytest.mark.parametrize("path", ["/run", "/fact/catalogue", "/file/a.toml"])
def test_without_the_token_nothing_is_answered(serving: server.Explorer, path: str) -> None:
    assert ask(serving, path, "{}", token="guessed")[0] == 403
    assert ask(serving, "/?token=guessed")[0] == 403
    assert ask(serving, "/")[0] == 403
    assert list(serving.files.iterdir()) == []


def test_another_name_of_this_machine_is_refused(serving: server.Explorer) -> None:
    status, content = ask(serving, "/fact/catalogue", "", host="elsewhere.example")
    assert status == 403 and b"127.0.0.1" in content


def test_a_file_of_the_page_stays_in_its_folder(serving: server.Explorer) -> None:
    assert ask(serving, "/file/my.toml", b"a = 1\n")[0] == 200
    assert [path.name for path in serving.files.iterdir()] == ["my.toml"]
    for name in ("..%2Fup.toml", "%2Ftmp%2Fx.toml", ""):
        assert ask(serving, f"/file/{name}", b"a = 1\n")[0] == 400
    assert [path.name for path in serving.files.iterdir()] == ["my.toml"]


def test_facts_are_answered_by_name(serving: server.Explorer) -> None:
    status, content = ask(serving, "/fact/catalogue", "")
    assert status == 200 and "skylake-gold-6140" in json.loads(content)["platforms"]
    assert ask(serving, "/fact/weather", "")[0] == 404
    assert ask(serving, "/nothing", "")[0] == 404


def test_only_the_loopback_interface_listens(serving: server.Explorer) -> None:
    assert serving.server_address[0] == "127.0.0.1"
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{32}", serving.address)


def test_a_page_that_is_not_built_is_told_before_anything_begins(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(page, "FOLDER", tmp_path)
    with pytest.raises(_core.InputError, match="run make web"):
        page.require()


def test_a_scenario_that_cannot_be_is_refused_by_the_command(skipline: Skipline) -> None:
    done = skipline("explore", "forward-100g", "--set", "cores=0", "--no-browser")
    assert done.code == 2 and ("cores" in done.err or "make web" in done.err)
