import type { CapByValueView, ListedCapView, NearValueView } from "../../../admin/caps/schema.ts";
import { plural } from "../../../base/text/plural.ts";
import { useAccountNames } from "../account-names.ts";
import { useAnswer } from "../api.ts";
import { count } from "../format.ts";
import { Button } from "../parts/button.tsx";
import { CapUse, capText } from "../parts/cap-bars.tsx";
import { Card } from "../parts/card.tsx";
import { Choose, choicesOf } from "../parts/choose.tsx";
import { ask, useAsked } from "../parts/dialogs.tsx";
import { ForAdmins } from "../parts/for-admins.tsx";
import { Menu, MenuItem } from "../parts/menu.tsx";
import { Empty, LoadedContent } from "../parts/states.tsx";
import { actionsColumn, type Column, Table } from "../parts/table.tsx";
import { hrefOf, query } from "../router.ts";
import { AddCap, EditCap, RaiseCap, RemoveCap, ShowCap } from "./cap-dialogs.tsx";
import { whomText } from "./cap-text.ts";

/** Longer lists are not readable. */
const maxRows = 100;

const shares = { "0.8": "80% used", "0.95": "95% used", "1": "Used up" };

/** Caps by owner, end user and tag; or all caps and values near their limit, including caps of keys and accounts. */
export function Caps() {
  const caps = useAnswer<{ readonly data: readonly ListedCapView[] }>("/caps", 10_000);
  useAsked("cap", ask(AddCap, null));
  const near = query.value.get("near") ?? "";
  return (
    <Card
      title="Caps by owner, end user and tag"
      actions={
        <>
          <Choose name="near" label="Near a limit" otherwise="All caps" choices={choicesOf(shares)} />
          <ForAdmins>
            <Button icon="plus" onClick={ask(AddCap, null)}>
              New cap
            </Button>
          </ForAdmins>
        </>
      }
    >
      {near === "" ? (
        <LoadedContent loaded={caps}>{({ data }) => <CapTable caps={data.flatMap(byValue)} />}</LoadedContent>
      ) : (
        <NearValues share={near} />
      )}
    </Card>
  );
}

/** The caps of keys and accounts are shown with these. */
function byValue({ id, ...cap }: ListedCapView): readonly CapByValueView[] {
  return id === null ? [] : [{ id, ...cap }];
}

function CapTable({ caps }: { caps: readonly CapByValueView[] }) {
  const columns: readonly Column<CapByValueView>[] = [
    {
      name: "Limits",
      class: "lead clip",
      phone: "title",
      cell: whomText,
      note: ({ optional }) => optional && "and requests without it, together",
    },
    {
      name: "To",
      class: "clip long",
      phone: "about",
      cell: (cap) => capText(cap, cap.mode),
      note: ({ then: model }) => model !== null && `then ${model}`,
    },
    { name: "Within", minor: true, cell: Within },
    { name: "Used", class: "number two", phone: "value", cell: UsedOf },
    actionsColumn((cap) => <CapMenu cap={cap} />),
  ];
  return (
    <>
      <Table
        rows={caps.slice(0, maxRows)}
        columns={columns}
        keyOf={({ id }) => id}
        empty={
          <Empty icon="accounts" title="No caps yet">
            <p>A cap limits what each person, end user or project spends, over all keys or within one.</p>
          </Empty>
        }
      />
      {caps.length > maxRows && (
        <p class="muted pad">
          And {count(caps.length - maxRows)} more: <code>sluice caps list</code>
        </p>
      )}
    </>
  );
}

function Within({ key, account }: Pick<ListedCapView, "key" | "account">) {
  const names = useAccountNames();
  if (key !== null) return <a href={hrefOf(`keys/${key}`)}>one key</a>;
  if (account !== null) return <a href={hrefOf(`accounts/${account}`)}>{names(account)}</a>;
  return <>all keys</>;
}

function UsedOf(cap: CapByValueView) {
  const { used, limit, raised_by, mode } = cap;
  if (used !== null) return <CapUse cap={{ used, limit: limit + raised_by }} mode={mode} />;
  return (
    <button type="button" class="link" onClick={ask(ShowCap, cap)}>
      {plural(cap.counted, "value", undefined, count)}
    </button>
  );
}

function CapMenu({ cap }: { cap: CapByValueView }) {
  return (
    <ForAdmins>
      <Menu label={`Actions for ${whomText(cap)}, ${capText(cap, cap.mode)}`}>
        <MenuItem onClick={ask(EditCap, cap)}>Edit…</MenuItem>
        <MenuItem onClick={ask(RaiseCap, cap)}>Raise…</MenuItem>
        <hr />
        <MenuItem danger onClick={ask(RemoveCap, cap)}>
          Remove…
        </MenuItem>
      </Menu>
    </ForAdmins>
  );
}

function NearValues({ share }: { share: string }) {
  const near = useAnswer<{ readonly data: readonly NearValueView[] }>("/cap-values", 10_000, { near: share });
  const columns: readonly Column<NearValueView>[] = [
    {
      name: "Who",
      class: "lead clip",
      phone: "title",
      cell: ({ value, label }) => value ?? (label === null ? "Everything" : "Without the label"),
      note: ({ label }) => label ?? "",
    },
    { name: "Limit", class: "clip long", phone: "about", cell: (value) => capText(value, value.mode) },
    { name: "Within", minor: true, cell: Within },
    {
      name: "Used",
      class: "number two",
      phone: "value",
      cell: (value) => <CapUse cap={value} mode={value.mode} />,
    },
  ];
  return (
    <LoadedContent loaded={near}>
      {({ data }) => (
        <Table
          rows={data.slice(0, maxRows)}
          columns={columns}
          keyOf={(_, place) => place}
          empty={
            <Empty icon="accounts" title="Nothing is near its limit">
              <p>Values that have used this much of their cap appear here, the nearest first.</p>
            </Empty>
          }
        />
      )}
    </LoadedContent>
  );
}
