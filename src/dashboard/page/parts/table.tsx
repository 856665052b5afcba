import type { ComponentChildren } from "preact";
import { query, setQuery } from "../router.ts";

/** Position of a cell in a row on a phone: two lines, each with a left and a right side. */
type PhonePlace = "title" | "value" | "about" | "side";

export interface Column<Row> {
  readonly name: string;
  /** The class of its cells; its head is aligned with numbers. */
  readonly class?: string;
  /** A column whose name is only read aloud. */
  readonly unseen?: true;
  /** Left out where the page is narrow. */
  readonly minor?: true;
  /** If a table has places, its rows have two lines on a phone, and columns without a place are left out there. */
  readonly phone?: PhonePlace;
  /** The unit of a number, if its column's name is not visible. */
  readonly phoneUnit?: string;
  /** The value of the `sort` parameter that sorts by this column. */
  readonly sort?: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** A word below it; nothing where it is empty. */
  readonly note?: (row: Row) => ComponentChildren;
}

/** The column at the end of a row, with its menu. */
export function actionsColumn<Row>(cell: Column<Row>["cell"]): Column<Row> {
  return { name: "Actions", class: "row-end", unseen: true, cell };
}

interface TableProps<Row> {
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  readonly keyOf: (row: Row, place: number) => string | number;
  readonly class?: string;
  /** For rows that explain themselves. */
  readonly unseenHead?: boolean;
  /** Shown if the table has no rows. */
  readonly empty?: ComponentChildren;
  readonly onPoint?: (row: Row | null) => void;
}

/** Rows that have two lines on a phone, or become cards where each cell shows the name of its column. */
export function Table<Row>(props: TableProps<Row>) {
  const { rows, columns, keyOf, class: extra = "", unseenHead, empty, onPoint } = props;
  if (rows.length === 0 && empty !== undefined) return <>{empty}</>;
  const hasPlaces = columns.some(({ phone }) => phone !== undefined);
  return (
    <table class={`rows ${hasPlaces ? "compact" : ""} ${extra}`} onKeyDown={moveAmongRows}>
      {/* A head out of sight takes the widths of its columns with it. */}
      {unseenHead && (
        <colgroup>
          {columns.map((column) => (
            <col key={column.name} />
          ))}
        </colgroup>
      )}
      <thead class={unseenHead ? "unseen" : undefined}>
        <tr>
          {columns.map((column) => (
            <Head key={column.name} column={column} />
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, place) => (
          <tr
            key={keyOf(row, place)}
            onMouseEnter={onPoint && (() => onPoint(row))}
            onMouseLeave={onPoint && (() => onPoint(null))}
          >
            {columns.map((column) => {
              const below = column.note?.(row);
              return (
                <td
                  key={column.name}
                  ref={column.class?.includes("clip") ? (cell) => nameWhole(cell) : null}
                  class={classOf(column)}
                  data-name={column.unseen ? undefined : column.name}
                  data-unit={column.phoneUnit}
                >
                  {column.cell(row)}
                  {below && <small class="muted">{below}</small>}
                </td>
              );
            })}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** A cell that may be cut shows its whole text when it is pointed at. */
function nameWhole(cell: HTMLElement | null): void {
  if (cell) cell.title = (cell.querySelector("a, code") ?? cell.firstChild)?.textContent ?? "";
}

function classOf<Row>({ class: kind = "", minor, phone }: Column<Row>): string | undefined {
  const at = phone === undefined ? "" : `at-${phone}`;
  return [kind, minor ? "minor" : "", at].filter((name) => name !== "").join(" ") || undefined;
}

function Head<Row>({ column }: { column: Column<Row> }) {
  const { name, class: kind, unseen, sort } = column;
  const isSorted = sort !== undefined && query.value.get("sort") === sort;
  const isNumber = kind?.includes("number") ?? false;
  return (
    <th
      scope="col"
      class={classOf({ ...column, class: isNumber ? "number" : "" })}
      aria-sort={isSorted ? (isNumber ? "descending" : "ascending") : undefined}
    >
      {unseen ? (
        <span class="unseen">{name}</span>
      ) : sort === undefined ? (
        name
      ) : (
        <button
          type="button"
          class="sort"
          onClick={() => setQuery({ sort: isSorted ? null : sort, cursor: null })}
        >
          {name}
        </button>
      )}
    </th>
  );
}

const steps: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };

/** The arrow keys move from the link of one row to the next one. Enter follows it. */
function moveAmongRows(event: KeyboardEvent): void {
  const step = steps[event.key];
  const row = event.target instanceof Element ? event.target.closest(".lead a")?.closest("tr") : null;
  if (step === undefined || row === null || row === undefined) return;
  const next = step > 0 ? row.nextElementSibling : row.previousElementSibling;
  const link = next?.querySelector<HTMLElement>(".lead a");
  if (!link) return;
  event.preventDefault();
  link.focus();
}
