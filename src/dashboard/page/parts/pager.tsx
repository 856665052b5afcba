import { query, setQuery } from "../router.ts";
import { Button } from "./button.tsx";

/** Pages are cursors: back means to the first page, or one step back in the browser. */
export function Pager({ next, first = "Newest" }: { next: string | null; first?: string }) {
  const cursor = query.value.get("cursor");
  if (cursor === null && next === null) return null;
  return (
    <nav class="pager line" aria-label="More rows">
      <Button icon="back" disabled={cursor === null} onClick={() => setQuery({ cursor: null })}>
        {first}
      </Button>
      <Button disabled={next === null} onClick={() => setQuery({ cursor: next })}>
        Next page
      </Button>
    </nav>
  );
}
