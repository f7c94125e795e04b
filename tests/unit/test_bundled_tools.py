"""The bundled tools as far as they are pure: tables, figures, charts, forms and what becomes of the answers."""

import io
import json
import statistics
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from pydantic import TypeAdapter

from coatcheck.workers.runs.steps import decode, encode
from coatcheck.workers.toolkit.errors import InvalidAnswer, ToolError
from coatcheck.workers.toolkit.inputs import Answer, Elicit, check_answer, load_validator
from coatcheck.workers.toolkit.schemas import Output
from coatcheck.workers.toolkit.tool import Catalogue
from coatcheck.workers.tools.companions import (
    ROOMS,
    check_day,
    find_room,
    list_samples,
    plan,
    when_form,
    who_form,
)
from coatcheck.workers.tools.report.chart import HEIGHT, PLOT, WIDTH, draw_chart
from coatcheck.workers.tools.report.distribution import MAX_BARS, distribution
from coatcheck.workers.tools.report.figures import correlations, make_report
from coatcheck.workers.tools.report.markdown import as_markdown
from coatcheck.workers.tools.report.model import (
    Bar,
    Correlation,
    DateFigures,
    NumberFigures,
    Outlier,
    Report,
    TextFigures,
)
from coatcheck.workers.tools.report.outline import MAX_CORRELATED, Size, make_outline
from coatcheck.workers.tools.report.reading import MAX_COLUMNS, MAX_NAME_LENGTH, MAX_ROWS, read_csv
from coatcheck.workers.tools.report.table import NumberColumn, Table, TextColumn
from coatcheck.workers.tools.report.tool import approval_form, comment_of_approval, load_table, source_label
from coatcheck.workers.tools.report.typing_columns import typed_column
from coatcheck.workers.tools.sample_tables import SAMPLES, sample_text

ORDERS = """day,region,units,paid
2025-03-01,North,10,yes
2025-03-02,South,,no
2025-03-05,North,30,yes
2025-03-04,,20,
"""

WHEN = {"action": "accept", "content": {"day": "2099-06-03", "time": "09:00"}}
WHO = {"action": "accept", "content": {"people": 5, "equipment": ["screen"]}}

SIZES: tuple[Size, ...] = ("small", "medium", "large")


def report_on(text: str, size: Size = "small") -> Report:
    table = read_csv(text)
    return make_report("a test", table, size, make_outline(table, size))


def answer_to(form: Elicit, answer: Mapping[str, object]) -> Answer:
    """What the tool gets when a client sends this answer."""
    request = form.to_wire()
    return Answer.from_wire(request, check_answer(request, answer))


class TestDefinitions:
    catalogue = Catalogue.load(["coatcheck.workers.tools"])

    def test_three_tools_are_bundled_and_those_that_ask_require_forms(self) -> None:
        forms: dict[str, object] = {"elicitation": {"form": {}}}

        assert [(tool.name, tool.mode, tool.requires) for tool in self.catalogue] == [
            ("generate_report", "task", forms),
            ("list_samples", "sync", {}),
            ("plan_meeting", "task", forms),
        ]

    @pytest.mark.parametrize("size", SIZES)
    @pytest.mark.parametrize("name", SAMPLES)
    def test_a_report_fits_the_output_schema_that_is_declared(self, name: str, size: Size) -> None:
        assert self.output("generate_report").dump(report_on(sample_text(name), size))["row_count"] > 0

    def test_what_the_companions_give_fits_theirs(self) -> None:
        meeting = plan("tea", answer_to(when_form("tea"), WHEN), answer_to(who_form("tea"), WHO))

        assert self.output("plan_meeting").dump(meeting)["day"] == "2099-06-03"
        assert len(self.output("list_samples").dump(list_samples())["samples"]) == 3

    def output(self, name: str) -> Output:
        tool = self.catalogue.get(name)
        assert tool is not None
        return tool.output


class TestReading:
    def test_every_column_gets_the_kind_that_fits_all_of_its_cells(self) -> None:
        table = read_csv(ORDERS)

        assert [(column.name, column.kind) for column in table.columns] == [
            ("day", "date"),
            ("region", "text"),
            ("units", "number"),
            ("paid", "boolean"),
        ]
        assert [column.cells for column in table.columns[1:]] == [
            ("North", "South", "North", None),
            (10.0, None, 30.0, 20.0),
            (True, False, True, None),
        ]

    @pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
    @pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
    def test_delimiter_and_line_ends_are_found_out(self, delimiter: str, line_end: str) -> None:
        assert read_csv(ORDERS.replace(",", delimiter).replace("\n", line_end)) == read_csv(ORDERS)

    def test_a_byte_order_mark_blank_rows_and_white_space_change_nothing(self) -> None:
        text = "\ufeff\n" + ORDERS.replace("\n", "\n\n,,,\n").replace(",N", ",  N")

        assert read_csv(text) == read_csv(ORDERS)

    def test_quoted_cells_may_hold_delimiters_quotes_and_line_ends(self) -> None:
        table = read_csv('a;b\n"x;1 ""y""\nz";2\n')

        assert table.columns[0].cells == ('x;1 "y"\nz',)

    @pytest.mark.parametrize(
        ("text", "columns"),
        [
            ('order,"a|b|c|d"\n1,5\n', {"order": (1,), "a|b|c|d": (5,)}),
            ('order,"a|b"\n1,"x|y"\n', {"order": (1,), "a|b": ("x|y",)}),
            ("date,a;b;c\n2025-01-01,5\n2025-01-02,6\n", {"a;b;c": (5, 6)}),
            ('a,b|c\n"1,5"|2\n3|4\n', {"a,b": (1.5, 3), "c": (2, 4)}),
            ("region;units, total\nNorth;1,5\nSouth;2,5\n", {"region": ("North", "South"), "units, total": (1.5, 2.5)}),
            ("value\n1,5\n2,5\n", {"value": (1.5, 2.5)}),
            ('a,b\n"x\n|""|",1\n', {"a": ('x\n|"|',), "b": (1,)}),
        ],
    )
    def test_the_delimiter_is_the_one_by_which_all_rows_agree(self, text: str, columns: dict[str, object]) -> None:
        """K6.1."""
        found = {column.name: column.cells for column in read_csv(text).columns}

        assert {name: found.get(name) for name in columns} == columns

    def test_the_name_of_a_column_is_on_one_line(self) -> None:
        """Another line would be one more entry of the outline that a person approves."""
        assert read_csv('"units\n 9. Secrets",b\n1,2\n').columns[0].name == "units 9. Secrets"

    def test_one_column_of_numbers_is_a_table(self) -> None:
        assert read_csv("value\n1\n2\n") == Table((NumberColumn("value", (1.0, 2.0)),))

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("", "empty"),
            (" \n\t\n", "empty"),
            ("a,b\n", "no rows"),
            ("a,b\n1,2\n3\n", "2 in the header, 1 in the row that ends on line 3"),
            ("a,b\n1,2\n3,4,5\n", "2 in the header, 3 in the row"),
            ("2025-01-01,North,1\n2025-01-02,South,2\n", "cell 1 is a number or a date"),
            ("North,1\nSouth,2\n", "cell 2 is a number or a date"),
            ("a,,c\n1,2,3\n", "Column 2 has no name"),
            ("a,b,A\n1,2,3\n", "Two columns have the name"),
            (f"a,{'b' * (MAX_NAME_LENGTH + 1)}\n1,2\n", "name of column 2 is longer"),
            ("Dear all,\nthe table will follow\nregards\n", "Column 2 has no name"),
            ("%PDF-1.7\nobj\nendobj\n", "Only one column of text"),
            ("a,b\n1,\0\n", "NUL"),
            ('a,b\n1,"2\n', "Close every double quote"),
            ('a,b\n1,"2"x\n', "line 2"),
            (f"a,b\n1,{'x' * 200_000}\n", "line 2"),
            (f"{','.join(f'c{n}' for n in range(MAX_COLUMNS + 1))}\n1\n", f"{MAX_COLUMNS} is the limit"),
            ("a,b\n" + "1,2\n" * (MAX_ROWS + 1), f"more than {MAX_ROWS} rows"),
        ],
    )
    def test_a_broken_csv_is_refused_with_words_that_say_where_and_what_to_do(self, text: str, says: str) -> None:
        with pytest.raises(ToolError, match=says):
            read_csv(text)

    @settings(max_examples=150, deadline=None)
    @given(st.text(st.sampled_from(list('ab,;\n\r\t"|1.-0e:TZé \ufeff')), max_size=80))
    def test_whatever_text_comes_is_a_table_that_can_be_reported_or_a_tool_error(self, text: str) -> None:
        try:
            table = read_csv(text)
        except ToolError:
            return
        for size in SIZES:
            outline = make_outline(table, size)
            report = make_report("a test", table, size, outline)
            json.dumps(TypeAdapter(Report).dump_python(report, mode="json"), allow_nan=False)
            assert as_markdown(report, outline)

    @pytest.mark.parametrize("text", [*map(sample_text, SAMPLES), "a,b\n" + ",\n1,\n" * (MAX_ROWS // 2)])
    def test_a_later_run_gets_the_same_table(self, text: str) -> None:
        table = read_csv(text)

        assert decode(encode("load", table, load_table, max_bytes=2**20), load_table) == table


class TestKinds:
    @pytest.mark.parametrize(
        ("cells", "kind"),
        [
            (["1", "-2.5", "+3e2", "NA", ""], "number"),
            (["1,234.5", "12"], "number"),
            (["1.234,5", "12,75"], "number"),
            (["0", "1"], "number"),
            (["00741", "00742"], "text"),
            (["1e60", "2"], "text"),
            (["1e999"], "text"),
            (["inf", "1"], "text"),
            (["\u0661", "\u0662"], "text"),
            (["TRUE", "no", "n/a"], "boolean"),
            (["2025-01-31", "2025-02-01T10:30"], "date"),
            (["2025-01-31T10:00Z", "2025-01-31T10:00+05:00"], "date"),
            (["2025-01-31T10:00Z", "2025-01-31"], "text"),
            (["0001-01-01T00:00+14:00"], "text"),
            (["31.12.2025"], "date"),
            (["31/12/2025", "01/02/2025"], "date"),
            (["12/31/2025", "01/02/2025"], "date"),
            (["31/12/2025", "12/31/2025"], "text"),
            (["2025-02-30"], "text"),
            (["", "-"], "text"),
        ],
    )
    def test_a_column_is_of_the_first_kind_that_reads_all_its_cells(self, cells: list[str], kind: str) -> None:
        assert typed_column("x", cells).kind == kind

    def test_thousands_and_decimals_are_told_apart_by_the_whole_column(self) -> None:
        assert typed_column("x", ["1,234", "2,500.5"]).cells == (1234.0, 2500.5)
        assert typed_column("x", ["1,234", "0,75"]).cells == (1.234, 0.75)

    def test_moments_with_a_zone_are_kept_in_utc(self) -> None:
        assert typed_column("x", ["2025-01-31T10:00+05:00"]).cells == (datetime(2025, 1, 31, 5, tzinfo=UTC),)


class TestOutline:
    @pytest.mark.parametrize(
        ("size", "headings"),
        [
            ("small", ["Numbers", "Dates", "Yes or no", "Texts"]),
            ("medium", ["Numbers", "Dates", "Yes or no", "Texts", "Distributions"]),
            ("large", ["Numbers", "Dates", "Yes or no", "Texts", "Distributions", "Outliers"]),
        ],
    )
    def test_a_larger_size_has_more_sections(self, size: Size, headings: list[str]) -> None:
        assert [section.heading for section in make_outline(read_csv(ORDERS), size).sections] == headings

    @pytest.mark.parametrize(("columns", "compared"), [(1, 0), (2, 2), (MAX_CORRELATED + 1, MAX_CORRELATED)])
    def test_correlations_are_of_two_columns_or_more_but_not_of_all_of_many(self, columns: int, compared: int) -> None:
        table = Table(tuple(NumberColumn(f"c{n}", (1.0,)) for n in range(columns)))

        assert len(make_outline(table, "large").columns("correlations")) == compared

    def test_the_text_names_every_section_its_columns_and_the_chart(self) -> None:
        assert make_outline(read_csv("a,b,c\n1,2,x\n"), "small").as_text() == (
            "1. Numbers: a, b\n2. Texts: c\nChart: distribution of a"
        )


class TestFigures:
    def test_numbers_have_their_spread_and_missing_cells_are_left_out(self) -> None:
        figures = report_on("x,y\n1,a\n2,a\n,a\n3,a\n4,a\n100,a\n").columns[0]

        assert figures == NumberFigures(
            "x",
            count=5,
            missing=1,
            minimum=1,
            lower_quartile=2,
            median=3,
            upper_quartile=4,
            maximum=100,
            mean=22,
            standard_deviation=statistics.stdev([1, 2, 3, 4, 100]),
        )

    def test_figures_are_exact_and_only_words_for_a_reader_are_rounded(self) -> None:
        """K6.2."""
        table = read_csv("x,y\n12345678901.25,a\n12345678901.75,a\n")
        outline = make_outline(table, "medium")
        report = make_report("a test", table, "medium", outline)
        figures = report.columns[0]

        assert isinstance(figures, NumberFigures)
        assert (figures.minimum, figures.maximum, figures.mean) == (12345678901.25, 12345678901.75, 12345678901.5)
        assert [bar.label for bar in figures.distribution] == ["12,345,678,901.25", "12,345,678,901.75"]
        assert "| 12,345,678,901.25 |" in as_markdown(report, outline)

    @pytest.mark.parametrize("size", SIZES)
    def test_whole_numbers_keep_all_their_digits_also_in_a_later_run(self, size: Size) -> None:
        """K6.2: a float has 15 of them."""
        report = report_on("x,y\n9007199254740993,1\n9007199254740995,2\n", size)
        kept = decode(encode("figures", report, make_report, max_bytes=2**20), make_report)

        assert [(kept.columns[0].minimum, kept.columns[0].maximum)] == [(9007199254740993, 9007199254740995)]

    def test_numbers_that_differ_are_told_apart_by_the_labels_of_their_bars(self) -> None:
        """K6.2."""
        few = distribution(typed_column("x", ["1.00001", "1.00002", "1234567890123.5"]))
        many = distribution(typed_column("x", [f"1.0000{n:02}" for n in range(40)]))

        assert [bar.label for bar in few] == ["1.00001", "1.00002", "1,234,567,890,123.5"]
        assert len({bar.label for bar in many}) == len(many)

    def test_one_number_has_no_deviation(self) -> None:
        figures = report_on("x,y\n7,a\n").columns[0]

        assert isinstance(figures, NumberFigures)
        assert (figures.lower_quartile, figures.upper_quartile, figures.standard_deviation) == (7, 7, None)

    def test_dates_and_texts_have_theirs(self) -> None:
        day, region, _, _ = report_on(ORDERS).columns

        assert day == DateFigures("day", 4, 0, "2025-03-01", "2025-03-05")
        assert region == TextFigures("region", 3, 1, distinct=2, most_common=(Bar("North", 2), Bar("South", 1)))

    def test_an_empty_column_is_reported_as_missing(self) -> None:
        assert report_on("x,y\n1,\n2,\n", "large").columns[1] == TextFigures("y", 0, 2, 0, ())

    def test_outliers_lie_beyond_the_fences_and_the_farthest_comes_first(self) -> None:
        figures = report_on("x,y\n" + "\n".join(f"{x},a" for x in [10, 11, 12, 13, 14, -40, 90]), "large").columns[0]

        assert isinstance(figures, NumberFigures)
        assert figures.outliers is not None
        assert (figures.outliers.lower_fence, figures.outliers.upper_fence) == (6, 18)
        assert figures.outliers.farthest == (Outlier(7, 90), Outlier(6, -40))

    def test_correlations_are_by_strength_over_the_rows_where_both_are_present(self) -> None:
        table = read_csv("a,b,c,same\n1,2,9,5\n2,4,1,5\n3,6,4,5\n4,,3,5\n")

        first, *rest = correlations(table, ("a", "b", "c", "same"))

        assert first == Correlation("a", "b", 1.0, 3)
        assert [(pair.first, pair.second) for pair in rest] == [("b", "c"), ("a", "c")]

    @pytest.mark.parametrize(
        "numbers",
        [
            "1e-300,2e-300\n2e-300,1e-300\n3e-300,5e-300",
            "1e50,1\n-1e50,2\n9e49,3",
            "\n".join(f"{number * 5e-324},1" for number in range(20)),
        ],
        ids=["small", "large", "smallest"],
    )
    def test_extreme_numbers_give_finite_figures(self, numbers: str) -> None:
        report = report_on(f"a,b\n{numbers}\n", "large")

        json.dumps(TypeAdapter(Report).dump_python(report, mode="json"), allow_nan=False)

    def test_depth_depends_on_the_size(self) -> None:
        small, medium, large = (report_on(sample_text("sales"), size) for size in SIZES)

        assert not any(figures.distribution for figures in small.columns)
        assert all(figures.distribution for figures in medium.columns)
        assert not medium.correlations
        assert large.correlations


class TestDistribution:
    def test_few_numbers_have_a_bar_each(self) -> None:
        assert distribution(typed_column("x", ["2", "1", "2", ""])) == (Bar("1", 1), Bar("2", 2))

    def test_many_numbers_are_counted_in_round_ranges_without_a_gap(self) -> None:
        bars = distribution(typed_column("x", [*map(str, range(20)), "45"]))

        assert [bar.label for bar in bars][:2] == ["0 to 5", "5 to 10"]
        assert [bar.count for bar in bars] == [5, 5, 5, 5, 0, 0, 0, 0, 0, 1]

    @given(st.lists(st.floats(-1e50, 1e50, allow_nan=False), min_size=1, max_size=60))
    def test_every_number_is_counted_once_in_few_bars(self, numbers: list[float]) -> None:
        bars = distribution(NumberColumn("x", tuple(numbers)))

        assert sum(bar.count for bar in bars) == len(numbers)
        assert len(bars) <= MAX_BARS

    @pytest.mark.parametrize(
        ("days", "label"), [(5, "2025-01-01"), (50, "2025-01"), (800, "2025"), (8000, "202x"), (80_000, "20xx")]
    )
    def test_dates_are_counted_by_a_period_that_fits(self, days: int, label: str) -> None:
        dates = [(date(2025, 1, 1) + timedelta(days=day)).isoformat() for day in range(0, days, max(1, days // 90))]

        bars = distribution(typed_column("x", dates))

        assert bars[0].label == label
        assert len(bars) <= MAX_BARS
        assert sum(bar.count for bar in bars) == len(dates)

    def test_rare_texts_are_counted_together(self) -> None:
        bars = distribution(typed_column("x", ["common", "common", *(f"t{n}" for n in range(30))]))

        assert bars[0] == Bar("common", 2)
        assert bars[-1] == Bar("(other)", 20)
        assert len(bars) == MAX_BARS


class TestMarkdown:
    def test_a_report_has_the_sections_of_its_outline_and_the_comment(self) -> None:
        table = read_csv(ORDERS)
        outline = make_outline(table, "small")

        markdown = as_markdown(make_report("orders", table, "small", outline), outline, "Well done")

        assert [line for line in markdown.splitlines() if line.startswith(("#", ">"))] == [
            "# Report: orders",
            "> Approved with the comment: Well done",
            "## Numbers",
            "## Dates",
            "## Yes or no",
            "## Texts",
        ]
        assert "| units | 3 | 1 | 10 | 15 | 20 | 25 | 30 | 20 | 10 |" in markdown.splitlines()

    @pytest.mark.parametrize(
        ("text", "form", "extent"),
        [
            ("x\n1\n2\n", "2 rows, 1 column. ", "2 rows, 1 column, 0 missing cells. "),
            ("x,y\n1,\n", "1 row, 2 columns. ", "1 row, 2 columns, 1 missing cell. "),
        ],
    )
    def test_counts_and_nouns_agree(self, text: str, form: str, extent: str) -> None:
        """K6.3."""
        table = read_csv(text)
        outline = make_outline(table, "small")

        assert approval_form(table, outline).to_wire()["params"]["message"].startswith(form)
        assert as_markdown(make_report("x", table, "small", outline), outline).splitlines()[2].startswith(extent)

    def test_cells_cannot_break_the_table_or_inject_markup(self) -> None:
        table = Table((TextColumn("unit_price", ("a|b\n<script> [x](y) *z*",)),))
        outline = make_outline(table, "small")

        markdown = as_markdown(make_report("x", table, "small", outline), outline)

        assert markdown.splitlines()[-1] == r"| unit_price | 1 | 0 | 1 | a\|b \<script\> \[x\](y) \*z\* (1) |"

    def test_long_cells_are_cut(self) -> None:
        assert len(distribution(TextColumn("x", ("y" * 5000,)))[0].label) == 60


class TestChart:
    def test_the_length_of_a_bar_shows_its_count(self) -> None:
        left, top, right, bottom = PLOT
        image = Image.open(io.BytesIO(draw_chart("x", [Bar("full", 10), Bar("half", 5), Bar("none", 0)])))
        pixels = image.convert("RGB")

        lengths = []
        for index in range(3):
            y = int(top + (index + 0.5) * (bottom - top) / 3)
            row = [pixels.getpixel((x, y)) for x in range(left + 2, right)]
            lengths.append(sum(pixel == pixels.getpixel((left + 4, int(top + (bottom - top) / 6))) for pixel in row))

        assert image.format == "PNG"
        assert image.size == (WIDTH, HEIGHT)
        assert lengths[0] == pytest.approx(right - left, abs=3)
        assert lengths[1] == pytest.approx((right - left) / 2, abs=3)
        assert lengths[2] == 0

    @pytest.mark.parametrize(
        "bars", [[], [Bar("", 0)], [Bar("x" * 500, 20_000)], [Bar(f"日本 {n}", n) for n in range(MAX_BARS)]]
    )
    def test_any_bars_can_be_drawn(self, bars: list[Bar]) -> None:
        assert draw_chart("y" * 500, bars).startswith(b"\x89PNG")


class TestSamples:
    @pytest.mark.parametrize("name", SAMPLES)
    def test_a_sample_is_small_and_has_every_kind_of_column_and_missing_cells(self, name: str) -> None:
        text = sample_text(name)
        table = read_csv(text)

        assert len(text.encode()) < 30_000
        assert {column.kind for column in table.columns} == {"number", "date", "boolean", "text"}
        assert any(None in column.cells for column in table.columns)

    def test_a_single_line_is_taken_for_the_name_of_a_sample(self) -> None:
        assert load_table(" sales\n") == read_csv(sample_text("sales"))
        assert source_label(" sales\n") == "sales"
        assert source_label(ORDERS) == "your CSV"

    @pytest.mark.parametrize("source", ["slaes", "../samples/sales", "sales.csv", " ", "a,b,c"])
    def test_an_unknown_sample_is_refused_with_the_names_of_the_known(self, source: str) -> None:
        with pytest.raises(ToolError, match="sales, temperatures, tickets"):
            load_table(source)

    def test_the_list_describes_every_sample(self) -> None:
        listed = list_samples()

        assert [(sample.name, sample.row_count) for sample in listed.samples] == [
            ("sales", 300),
            ("temperatures", 360),
            ("tickets", 220),
        ]
        assert listed.samples[0].columns[0].kind == "date"


class TestApproval:
    form = approval_form(read_csv(ORDERS), make_outline(read_csv(ORDERS), "small"))

    def test_the_form_shows_the_outline_and_asks_for_a_verdict_and_perhaps_a_comment(self) -> None:
        params = self.form.to_wire()["params"]

        assert params["message"].startswith("4 rows, 4 columns. Approve this outline?\n\n1. Numbers: units")
        assert set(params["requestedSchema"]["properties"]) == {"approved", "comment"}
        assert params["requestedSchema"]["required"] == ["approved"]

    def test_an_approval_gives_its_comment(self) -> None:
        assert comment_of_approval(answer_to(self.form, {"action": "accept", "content": {"approved": True}})) == ""
        commented = {"action": "accept", "content": {"approved": True, "comment": " Good "}}
        assert comment_of_approval(answer_to(self.form, commented)) == "Good"

    @pytest.mark.parametrize(
        "answer",
        [{"action": "accept", "content": {"approved": False}}, {"action": "decline"}, {"action": "cancel"}],
    )
    def test_anything_else_refuses_the_report(self, answer: Mapping[str, object]) -> None:
        with pytest.raises(ToolError, match="not approved"):
            comment_of_approval(answer_to(self.form, answer))

    def test_a_refusal_hands_on_the_comment(self) -> None:
        refusal = {"action": "accept", "content": {"approved": False, "comment": "Leave out the days."}}

        with pytest.raises(ToolError, match="Leave out the days"):
            comment_of_approval(answer_to(self.form, refusal))


class TestPlanMeeting:
    def test_two_answers_make_a_plan(self) -> None:
        meeting = plan("tea", answer_to(when_form("tea"), WHEN), answer_to(who_form("tea"), WHO))

        assert (meeting.day.isoformat(), meeting.time, meeting.room) == ("2099-06-03", "09:00", "Lantern")
        assert (meeting.people, meeting.equipment) == (5, ("screen",))

    def test_a_declined_form_ends_the_planning(self) -> None:
        with pytest.raises(ToolError, match="both forms"):
            plan("tea", answer_to(when_form("tea"), WHEN), answer_to(who_form("tea"), {"action": "decline"}))

    @pytest.mark.parametrize("people", [1, ROOMS[-1].seats + 1, 2.5, "three"])
    def test_a_number_of_people_that_no_room_takes_is_refused_by_the_form(self, people: object) -> None:
        with pytest.raises(InvalidAnswer):
            answer_to(who_form("tea"), {"action": "accept", "content": {"people": people}})

    @pytest.mark.parametrize(("day", "says"), [("2020-01-01", "past"), ("2099-06-06", "Saturday")])
    def test_a_day_that_is_over_or_free_is_refused_by_the_validator(self, day: str, says: str) -> None:
        with pytest.raises(ValueError, match=says):
            check_day({"day": day, "time": "09:00"})

    def test_any_worker_finds_the_validator(self) -> None:
        assert load_validator(when_form("tea").validator_ref) is check_day

    def test_the_smallest_room_that_fits_is_taken(self) -> None:
        assert find_room(2, ()).name == "Anvil"
        assert find_room(2, ("video",)).name == "Harbour"

    def test_needs_that_no_room_meets_are_refused_with_the_rooms_there_are(self) -> None:
        with pytest.raises(ToolError, match="Anvil: 4 seats, whiteboard; Lantern"):
            find_room(12, ("whiteboard",))


def test_a_header_without_rows_is_a_table_without_rows_and_no_sample_name() -> None:
    with pytest.raises(ToolError, match="row"):
        load_table("a,b\n")
    assert load_table("sales\n").row_count == load_table("sales").row_count
