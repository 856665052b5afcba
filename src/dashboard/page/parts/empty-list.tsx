import type { ComponentChildren } from "preact";
import { query, setQuery } from "../router.ts";
import { Button } from "./button.tsx";
import type { IconName } from "./icon.tsx";
import { Empty } from "./states.tsx";

interface EmptyListProps {
  readonly icon: IconName;
  /** The plural of the list's items: `keys`. */
  readonly what: string;
  /** The URL parameters that filter the list. */
  readonly filters: readonly string[];
  /** Shown if there are no items at all. */
  readonly children: ComponentChildren;
}

export function isFiltered(filters: readonly string[]): boolean {
  return filters.some((name) => query.value.has(name));
}

/** An empty list: nothing matches the filters, or there is nothing yet. */
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
