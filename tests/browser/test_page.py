"""The page of the service in a real browser: from data to release, and what may go wrong on the way."""

import re
import zipfile
from io import BytesIO
from pathlib import Path
from random import Random

import pytest

from helpers.visitor import serving

MARKUP = "<img src=x onerror=alert(1)>"
SAFE = re.compile("Safe against outsiders")


def firms(first_code: str = "North", first_column: str = "region") -> str:
    """Records of firms: many in most cells, one alone in one."""
    rows = [
        (f"f{number}", region, size, 10 + number % 7)
        for number in range(90)
        for region in [(first_code, "East", "South")[number % 3]]
        for size in [("small", "large")[number // 3 % 2]]
    ]
    rows += [
        ("alone", first_code, "huge", 500),
        *((f"h{place}", "East", "huge", 300 + place) for place in range(9)),
    ]
    rows += [(f"s{place}", "South", "huge", 200 + place) for place in range(9)]
    quoted = [f'{firm},"{region}",{size},{turnover}' for firm, region, size, turnover in rows]
    return "\n".join([f'firm,"{first_column}",size,turnover', *quoted]) + "\n"


def many_firms() -> str:
    """Records of a table of three dimensions, whose search takes longer than anybody waits."""
    draw = Random(1)
    codes = [[f"{letter}{number}" for number in range(9)] for letter in "abc"]
    rows = [
        [f"f{number}", *(draw.choice(one) for one in codes), str(draw.randint(1, 99))]
        for number in range(3000)
    ]
    return "\n".join(",".join(row) for row in [["firm", "a", "b", "c", "turnover"], *rows]) + "\n"


def downloaded(visitor, name: str) -> bytes:
    with visitor.page.expect_download() as started:
        visitor.button(name).click()
    return Path(started.value.path()).read_bytes()


def test_from_a_csv_file_to_the_release_and_back_into_the_form(visit):
    anna = visit()
    page, alerts = anna.page, []
    page.on("dialog", lambda dialog: (alerts.append(dialog.message), dialog.accept()))
    anna.brings(f"{MARKUP}.csv", firms(MARKUP, f"{MARKUP} region"))
    anna.sees(anna.heading("Which table?"))
    anna.sees(page.locator(".lead"), MARKUP)
    assert page.get_by_label(f"What {MARKUP} region is taken as").input_value() == "dimension"
    anna.sees(page.locator(".columns"), f"{MARKUP}, East, South")
    anna.sees(page.locator(".check .figure"), re.compile(r"^\d+of 16 cells unsafe"))

    anna.goes_on("Rules", "Which cells are unsafe?")
    anna.button("Counts: threshold 5").click()
    page.get_by_label("Minimum", exact=True).fill("2")
    page.get_by_label("Add a rule …").select_option("p%")
    anna.sees(
        page.locator(".check table"), re.compile(r"threshold rule \(minimum 2\).*p% rule \(p = 10\)", re.S)
    )
    anna.sees(page.locator(".check .figure"), re.compile(r"^1of 16"))

    anna.goes_on("Protection", "Protect, and prove it")
    page.get_by_label("Outsiders only").check()
    page.get_by_text("The job file that repeats it all").click()
    anna.sees(page.get_by_label("The job file that repeats it all"))
    page.wait_for_function("() => document.querySelector('textarea').value.includes('attackers = []')")
    anna.runs()
    anna.waits_for_verdict()
    anna.sees(page.locator(".verdict"), SAFE)
    with zipfile.ZipFile(BytesIO(downloaded(anna, "Release"))) as release:
        assert "index.html" in release.namelist() and "pattern.csv" not in release.namelist()
    assert b"threshold:minimum=2" in downloaded(anna, "Job file")

    anna.opens("Table")
    page.locator("td.u:visible").first.click()
    panel = page.locator(".panel:visible")
    anna.sees(panel, "Primary: hidden, and to be protected")
    anna.sees(panel, MARKUP)
    anna.sees(panel, "If it were published")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Before protection").click()
    anna.sees(page.locator(".secret-note:visible"), "CONFIDENTIAL")
    page.get_by_role("button", name="Shade by loss").click()
    anna.opens("Primary cells")
    anna.sees(page.locator(".list:visible"), MARKUP)

    anna.button("Run again with changes").click()
    anna.sees(anna.heading("Protect, and prove it"))
    assert page.get_by_label("Outsiders only").is_checked()
    page.get_by_label("A table with adjusted values").check()
    page.get_by_label("Name of the job").fill(MARKUP)
    anna.runs()
    anna.waits_for_verdict()
    anna.sees(page.locator("h1"), MARKUP)
    page.get_by_label("Side by side with …").select_option(index=1)
    anna.sees(anna.heading("Side by side"))
    anna.sees(page.get_by_role("region", name="Figures of both"), "hypercube")
    assert page.locator(".beside .view:visible").count() == 2
    assert page.locator("img[src=x]").count() == 0 and alerts == [] and anna.opened.errors == []


def test_keys_alone_lead_through_built_in_data_and_every_view_suits_all(visit):
    anna = visit()
    keys = anna.page.keyboard
    anna.suits_all()
    anna.tabs_to("Use Invented firms, few")
    keys.press("Enter")
    anna.sees(anna.page.locator(".check .figure"))
    anna.suits_all()
    anna.tabs_to("Continue: Rules")
    keys.press("Enter")
    anna.sees(anna.heading("Which cells are unsafe?"))
    anna.sees(anna.page.locator(".check .figure"))
    anna.suits_all()
    anna.tabs_to("Continue: Protection")
    keys.press("Enter")
    anna.sees(anna.heading("Protect, and prove it"))
    anna.sees(anna.page.locator(".check .figure"))
    anna.suits_all()
    anna.tabs_to("Method")
    keys.type("hyper")
    anna.tabs_to("Run the job")
    keys.press("Enter")
    anna.waits_for_verdict()
    anna.suits_all()
    anna.tabs_to("Verdict")
    keys.press("ArrowRight")
    anna.sees(anna.page.locator(".view:visible"))
    anna.suits_all()
    for tab in ("What attackers learn", "What is lost where"):
        anna.opens(tab)
        anna.sees(anna.page.locator("[role=tabpanel]:visible svg rect").first)
        anna.suits_all()
    anna.opens("Table")
    for _ in range(60):
        keys.press("Tab")
        if anna.page.evaluate("() => document.activeElement.closest('.cells') !== null"):
            break
    keys.press("ArrowDown")
    keys.press("Enter")
    anna.sees(anna.page.locator(".panel:visible"))
    assert anna.page.evaluate("() => document.activeElement.classList.contains('panel')")
    keys.press("Escape")
    anna.page.get_by_role("link", name="Jobs", exact=True).click()
    anna.sees(anna.page.locator(".jobs"))
    anna.suits_all()
    anna.page.get_by_label("Language").select_option("de")
    anna.page.locator(".jobs a").first.click()
    anna.sees(anna.page.locator("[lang=en] .verdict"))
    anna.sees(anna.page.locator("[lang=en] [lang=de]"), "auf Englisch")
    assert anna.opened.errors == []


CHECKS = "**/api/v1/checks"


def test_a_busy_service_is_asked_again_and_a_check_that_died_is_not(visit):
    anna = visit()
    page, note, held = anna.page, anna.page.locator("#waiting"), []

    def refused(kind: str) -> dict[str, object]:
        return {"status": 503, "json": {"error": {"kind": kind, "message": f"refused: {kind}."}}}

    page.route(CHECKS, lambda route: held.append(route))
    page.route(CHECKS, lambda route: route.fulfill(**refused("busy")), times=1)
    anna.brings("firms.csv", firms())
    anna.sees(note, "asks again by itself")
    while not held:
        page.wait_for_timeout(50)  # it comes back by itself
    assert note.is_visible() and page.get_by_role("alert").count() == 0
    held.pop().fulfill(**refused("died"))
    anna.sees(page.get_by_role("alert"), "refused: died.")
    assert held == [] and note.is_hidden()


def test_a_job_goes_on_through_a_reload_and_keeps_its_best_when_it_is_stopped(visit):
    bert = visit("bert")
    page = bert.page
    bert.brings("many.csv", many_firms())
    bert.sees(bert.heading("Which table?"))
    page.get_by_role("link", name="Protection").click()
    bert.sees(bert.heading("Protect, and prove it"))
    page.get_by_label("Outsiders only").check()
    bert.runs(method="auto", limit="3600")
    address = page.url
    bert.sees(page.locator(".phase"), "Phase")
    page.reload()
    assert page.url == address
    bert.sees(bert.button("Stop now and keep the best"))
    bert.sees(page.locator(".search svg"))
    bert.button("Stop now and keep the best").click()
    bert.waits_for_verdict()
    bert.sees(page.locator(".job-head"), "stopped early")
    bert.sees(bert.button("Release"))
    assert bert.opened.errors == []


def test_a_cancelled_job_leaves_nothing_and_others_do_not_see_it(visit):
    bert, anna = visit("bert"), visit("anna")
    page = bert.page
    bert.brings("many.csv", many_firms())
    bert.sees(bert.heading("Which table?"))
    page.get_by_role("link", name="Protection").click()
    bert.sees(bert.heading("Protect, and prove it"))
    page.get_by_label("Name of the job").fill("of Bert alone")
    bert.runs(method="auto", limit="3600")
    anna.page.goto(page.url)
    anna.sees(anna.page.get_by_role("alert"), "it is not yours")
    bert.button("Cancel").click()
    bert.sees(page.locator(".job-head"), "cancelled")
    assert bert.button("Release").count() == 0
    for one, number in ((anna, 0), (bert, 1)):
        one.page.get_by_role("link", name="Jobs", exact=True).click()
        one.sees(one.page.locator(".jobs, .card.empty"))
        assert one.page.get_by_role("link", name="of Bert alone").count() == number
    page.on("dialog", lambda dialog: dialog.accept())
    bert.button("Delete of Bert alone").click()
    page.get_by_role("link", name="of Bert alone").wait_for(state="detached")


def test_a_bad_file_is_refused_with_place_and_remedy(visit):
    anna = visit()
    for name, text, told in (
        ("nothing.csv", "", "the file is empty"),
        ("broken.csv", 'a,b\n1,2\n3,"4\n5,6\n', "broken.csv"),
    ):
        anna.brings(name, text)
        anna.sees(anna.page.get_by_role("alert"), told)
        anna.sees(anna.heading("Which data?"))


def test_a_wrong_token_says_so_and_a_wrong_value_names_its_line(visit):
    anna = visit()
    page = anna.page
    anna.brings("firms.csv", firms().replace(",16\n", ",sixteen\n", 1))
    anna.sees(anna.heading("Which table?"))
    page.get_by_label("What turnover is taken as").select_option("response (added up)")
    anna.sees(page.locator(".check").get_by_role("alert"), re.compile("line 8"))
    anna.button("Sign out (anna)").click()
    anna.sees(anna.heading("Sign in"))
    page.get_by_label("Token").fill("wrong")
    anna.button("Sign in").click()
    anna.sees(page.get_by_role("alert"), "Not signed in")


@pytest.mark.slow
def test_a_table_of_100_000_cells_is_drawn_at_once_and_in_parts(visit):
    anna = visit()
    page = anna.page
    draw = Random(1)
    codes = [[f"{letter}{number // 18:02}.{number % 18:02}" for number in range(324)] for letter in "ab"]
    rows = [
        f"{one},{two},{draw.randint(50, 999)},{'u' if draw.random() < 0.002 else 's'}"
        for one in codes[0]
        for two in codes[1]
    ]
    anna.brings("large.csv", "\n".join(["a,b,value,status", *rows]) + "\n")
    anna.sees(anna.heading("Which table?"))
    page.get_by_role("link", name="Protection").click()
    anna.sees(anna.heading("Protect, and prove it"))
    anna.runs()
    anna.waits_for_verdict(patience=900_000)
    anna.sees(page.locator(".verdict"), SAFE)
    anna.opens("Table")
    anna.sees(page.locator(".view td[data-cell]").first)
    assert page.locator(".view td").count() < 4000
    page.locator(".frame").evaluate("(frame) => { frame.scrollTop = frame.scrollHeight; }")
    anna.sees(
        page.locator(".view th", has_text="a17.17").or_(page.locator(".view th", has_text="b17.17")).first
    )
    assert page.locator(".view td").count() < 4000 and anna.opened.errors == []


def test_a_hidden_tab_watches_no_job_and_goes_on_where_it_was(visit):
    anna = visit()
    page, begun, ended = anna.page, [], []

    def hide(is_hidden: bool) -> None:
        page.evaluate(
            "(is) => { Object.defineProperty(document, 'hidden', {value: is, configurable: true});"
            " document.dispatchEvent(new Event('visibilitychange')); }",
            is_hidden,
        )

    def is_stream(request) -> bool:
        return request.url.endswith("/events")

    page.on("request", lambda request: begun.append(request) if is_stream(request) else None)
    page.on("requestfailed", lambda request: ended.append(request) if is_stream(request) else None)
    anna.brings("many.csv", many_firms())
    anna.sees(anna.heading("Which table?"))
    page.get_by_role("link", name="Protection").click()
    anna.sees(anna.heading("Protect, and prove it"))
    anna.runs(method="auto", limit="3600")
    anna.sees(page.locator(".phase"), "Phase")
    assert len(begun) == 1 and ended == []
    with page.expect_event("requestfailed", is_stream):
        hide(True)
    with page.expect_request("**/events") as again:
        hide(False)
    assert int(again.value.all_headers()["last-event-id"]) > 0
    anna.button("Cancel").click()
    anna.sees(page.locator(".job-head"), "cancelled")
    assert len(begun) == 2


def test_two_services_on_one_machine_do_not_sign_each_other_out(visit, tmp_path):
    anna = visit()
    with serving(tmp_path) as other:
        context = anna.page.context
        second = context.new_page()
        second.goto(f"{other.address}#token={other.tokens['bert']}")
        anna.sees(second.get_by_role("button", name="Sign out (bert)"))
        for page, name in ((anna.page, "anna"), (second, "bert")):
            page.reload()
            anna.sees(page.get_by_role("button", name=f"Sign out ({name})"))
        third = context.new_page()  # a further tab of the first service
        third.goto(anna.page.url)
        anna.sees(third.get_by_role("button", name="Sign out (anna)"))
        second.get_by_role("button", name="Sign out (bert)").click()
        anna.sees(second.get_by_role("heading", name="Sign in"))
        second.reload()
        anna.sees(second.get_by_role("heading", name="Sign in"))
        third.reload()
        anna.sees(third.get_by_role("button", name="Sign out (anna)"))
        assert context.cookies() == []
