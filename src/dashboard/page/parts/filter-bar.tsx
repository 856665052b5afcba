import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { query } from "../router.ts";
import { Button } from "./button.tsx";

interface FilterBarProps {
  /** The URL parameters that the choices set; how many are set is shown where they are folded. */
  readonly names: readonly string[];
  readonly search?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** A search and choices in one line. On a phone the choices are folded, so that the list begins above the fold. */
export function FilterBar({ names, search, children }: FilterBarProps) {
  const [open, setOpen] = useState(false);
  const set = names.filter((name) => name !== "search" && query.value.has(name)).length;
  return (
    <div class={open ? "filters open" : "filters"}>
      {search}
      <span class="fold">
        <Button onClick={() => setOpen(!open)}>{set === 0 ? "Filters" : `Filters (${set})`}</Button>
      </span>
      {children}
    </div>
  );
}
