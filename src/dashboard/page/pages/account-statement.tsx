import type { AccountView, StatementView } from "../../../admin/views.ts";
import { api, useLoaded } from "../api.ts";
import { count, exactCredits } from "../format.ts";
import { Card } from "../parts/card.tsx";
import { Choose } from "../parts/choose.tsx";
import { Download } from "../parts/download.tsx";
import { month, monthName } from "../parts/range-picker.tsx";
import { Shown } from "../parts/states.tsx";
import { query } from "../router.ts";

const earlierMonths = 11;

/** The columns of `sluice statement --csv`. */
function linesOf({ month: of, unfinished, accounts }: StatementView): readonly object[] {
  return accounts.flatMap(({ account, label, unit, lines }) =>
    lines.map(({ amount, amount_nano, reference, note, ...line }) => ({
      month: of,
      unfinished,
      account,
      account_label: label,
      ...line,
      unit,
      amount,
      amount_nano,
      reference,
      note,
    })),
  );
}

function inWords({ accounts: [statement], unfinished }: StatementView): string {
  if (statement === undefined || statement.lines.length === 0) return "Nothing was charged or paid.";
  const { opening, total, closing, owed, unit } = statement;
  const shown = unit === "credits" ? exactCredits : count;
  const parts = [
    ...(opening === null ? [] : [`${shown(opening)} before`]),
    `${shown(total)} ${unit} in this month`,
    ...(closing === null ? [] : [`${shown(closing)} at the end`]),
    ...(owed === null ? [] : [`${shown(owed)} to be paid`]),
  ];
  return `${parts.join(" · ")}${unfinished ? " · the month is not over" : ""}`;
}

/** What the account is sent for a month. */
export function AccountStatement({ of: { id, label } }: { of: AccountView }) {
  const chosen = query.value.get("month") ?? month(0);
  const load = () => api.get<StatementView>("/statement", { month: chosen, account: id });
  const statement = useLoaded(`${id}/statement/${chosen}`, load);
  const earlier = Array.from({ length: earlierMonths }, (_, ago) => month(-1 - ago));
  return (
    <Card
      title="Statement"
      actions={
        <>
          <Choose
            name="month"
            otherwise={monthName(month(0))}
            choices={earlier.map((value) => ({ value, text: monthName(value) }))}
          />
          <Download name={`${label ?? id} ${chosen}`} rows={async () => linesOf(await load())} />
        </>
      }
    >
      <Shown loaded={statement} rows={1}>
        {(value) => <p class="pad">{inWords(value)}</p>}
      </Shown>
    </Card>
  );
}
