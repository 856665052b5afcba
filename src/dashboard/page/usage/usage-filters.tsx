import type { AccountList } from "../../../admin/accounts/schema.ts";
import { useAnswer } from "../api.ts";
import { Choose } from "../parts/choose.tsx";
import { Select, type State } from "../parts/field.tsx";
import { FilterBar } from "../parts/filter-bar.tsx";
import { RangePicker } from "../parts/range-picker.tsx";
import { SearchBox } from "../parts/search-box.tsx";
import { parameter, query, setQuery } from "../router.ts";
import { wordOf } from "./usage-table.tsx";

/** The dimensions that usage can be grouped by; a tag by its name, which can be changed. */
const dimensions = [
  ...["model", "key", "owner", "account", "provider", "route", "user", "session", "agent", "batch"],
  ...["month", "day", "hour"],
  "tag:project",
];

export const defaultGrouping = "model";

function DimensionChoice(props: { label: string; state: State; other: string; none?: string }) {
  const { label, other, none } = props;
  const [value, onValue] = props.state;
  const known = dimensions.filter((each) => wordOf(each) !== wordOf(other));
  const choices = known.map((each) => ({
    // Of a tag, the name that was chosen.
    value: wordOf(each) === wordOf(value) ? value : each,
    text: `by ${wordOf(each)}`,
  }));
  return (
    <>
      <Select
        aria-label={label}
        state={props.state}
        choices={[...(none === undefined ? [] : [{ value: "", text: none }]), ...choices]}
      />
      {value.startsWith("tag:") && (
        <div class="field">
          <SearchBox
            label="Tag name"
            state={[value.slice("tag:".length), (name) => onValue(`tag:${name || "project"}`)]}
            placeholder="project"
          />
        </div>
      )}
    </>
  );
}

function GroupingChoice() {
  const [first = defaultGrouping, second = ""] = (query.value.get("by") ?? defaultGrouping).split(",");
  const choose = (...by: readonly string[]) =>
    setQuery({ by: by.filter((each) => each !== "").join(","), cursor: null, only: null });
  return (
    <>
      <DimensionChoice label="By" state={[first, (value) => choose(value, second)]} other={second} />
      <DimensionChoice
        label="And by"
        state={[second, (value) => choose(first, value)]}
        other={first}
        none="and by…"
      />
    </>
  );
}

export function UsageFilters({ names }: { names: readonly string[] }) {
  const accounts = useAnswer<AccountList>("/accounts");
  return (
    <FilterBar
      names={names}
      search={
        <SearchBox label="Filter by key" state={parameter("key")} placeholder="Key id, prefix or label" />
      }
    >
      <RangePicker otherwise="Last week" />
      <GroupingChoice />
      <Choose
        name="account"
        choices={accounts.value?.data.map(({ id, label }) => ({ value: id, text: label ?? id })) ?? []}
      />
    </FilterBar>
  );
}
