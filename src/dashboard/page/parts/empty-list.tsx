import type { ComponentChildren } from "preact";
import { query, setQuery } from "../router.ts";
import { Button } from "./button.tsx";
import type { IconName } from "./icon.tsx";
import { Empty } from "./states.tsx";

interface EmptyListProps {
  readonly icon: IconName;
  /** What it is a list of: `keys`. */
  readonly what: string;
  /** The parameters of the page's address that leave rows out. */
  readonly filters: readonly string[];
  /** What to do where there is nothing at all. */
  readonly children: ComponentChildren;
}

export function isFiltered(filters: readonly string[]): boolean {
  return filters.some((name) => query.value.has(name));
}

/** A list without rows: nothing fits the filters, or there is nothing yet. */
export function EmptyList({ icon, what, filters, children }: EmptyListProps) {
  if (!isFiltered(filters)) {
    return (
      <Empty icon={icon} title={`No ${what} yet`}>
        {children}
      </Empty>
    );
  }
  const cleared = Object.fromEntries(["cursor", ...filters].map((name) => [name, null]));
  return (
    <Empty icon="search" title={`No ${what} found`}>
      <p>No matches. Clear the filters?</p>
      <Button onClick={() => setQuery(cleared)}>Clear the filters</Button>
    </Empty>
  );
}
