"""What the helpers are to find on a page, they find: pages with planted faults."""

PAGE = "<!doctype html><html lang=en><meta charset=utf-8><title>t</title><main><h1>t</h1>{}</main></html>"


def page(body: str) -> str:
    return PAGE.format(body)


def test_a_sound_page_has_no_faults(opened):
    seen = opened(page("<p>One line.</p><p>Another line.</p>"), width=400)
    assert seen.sticking_out() == seen.findings() == seen.errors == seen.printed().faults() == []
    assert "Another line." in seen.printed().text


def test_what_is_wider_than_the_screen_is_named(opened):
    seen = opened(page('<p style="width:600px">wide</p>'), width=400)
    assert "P. wide" in seen.sticking_out()[1]


def test_text_over_text_and_beyond_the_edge_is_named(opened):
    over = opened(page('<p>one two</p><p style="margin-top:-2.1em">three four</p>')).printed().faults()
    assert over and "one two" in over[0] and "three four" in over[0]
    wide = '<p style="margin-left:-2em; font-size:40px">WWWW end</p>'  # in any font the edge cuts a letter
    beyond = opened(page(wide)).printed().faults()
    assert beyond[0] == "cut off: WWWW" and "page 1: beyond the edge: W" in beyond[1] and "end" in beyond[1]


def test_a_bar_that_a_style_sheet_bends_is_named(opened):
    bar = '<svg viewBox="0 0 100 10"><rect class="short" width="0" height="10"/></svg>'
    assert opened(page(bar)).bent() == []
    assert opened(page(f"<style>.short {{ width: 8em }}</style>{bar}")).bent() == [
        "short: width 0 drawn as 128px"
    ]


def test_errors_and_serious_findings_are_named(opened):
    seen = opened(page("<input><script>undefinedName()</script>"))
    assert "undefinedName is not defined" in seen.errors[0]
    assert [finding.split(":")[0] for finding in seen.findings()] == ["label"]


def test_what_is_pale_in_the_dark_only_is_named(opened):
    pale = "<style>@media (prefers-color-scheme: dark) { p { color: #ddd } }</style><p>pale</p>"
    [finding] = opened(page(pale)).findings_in_both()
    assert finding.startswith("dark: color-contrast")
