import type { ComponentChildren } from "preact";
import type { LoadState } from "../api.ts";
import { EmptyList } from "./empty-list.tsx";
import type { IconName } from "./icon.tsx";
import { LoadedContent } from "./states.tsx";
import { type Column, Table } from "./table.tsx";

interface ListCardProps<Value, Row> {
  readonly loaded: LoadState<Value>;
  readonly rowsOf: (value: Value) => readonly Row[];
  readonly columns: readonly Column<Row>[];
  readonly icon: IconName;
  /** The plural of the list's items: `keys`. */
  readonly what: string;
  /** The URL parameters that filter the list. */
  readonly filters: readonly string[];
  /** Rows of the skeleton while it loads. */
  readonly skeleton?: number;
  /** Shown if there are no items at all. */
  readonly children: ComponentChildren;
}

/** The list of a page. */
export function ListCard<Value, Row extends { readonly id: string }>(props: ListCardProps<Value, Row>) {
  const { loaded, rowsOf, columns, skeleton = 6, ...empty } = props;
  return (
    <div class="card flush">
      <LoadedContent loaded={loaded} rows={skeleton}>
        {(value) => (
          <Table
            rows={rowsOf(value)}
            columns={columns}
            keyOf={({ id }) => id}
            empty={<EmptyList {...empty} />}
          />
        )}
      </LoadedContent>
    </div>
  );
}
