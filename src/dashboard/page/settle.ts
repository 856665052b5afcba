import { useEffect, useState } from "preact/hooks";
import { firstLoads } from "./api.ts";

/** A page that takes longer is shown with what there is. */
const longestMs = 1_000;
/** Time to wait for further requests that a response may cause. */
const quietMs = 50;

/**
 * True until all parts of a page have their first responses, so that the page appears at once and nothing moves while
 * it loads.
 */
export function useSettling(path: string): boolean {
  const [settled, setSettled] = useState<string | null>(null);
  const isLoading = firstLoads.value > 0;
  useEffect(() => {
    if (settled === path) return undefined;
    const end = setTimeout(() => setSettled(path), longestMs);
    return () => clearTimeout(end);
  }, [path, settled]);
  useEffect(() => {
    if (isLoading || settled === path) return undefined;
    const end = setTimeout(() => setSettled(path), quietMs);
    return () => clearTimeout(end);
  }, [path, settled, isLoading]);
  return settled !== path;
}
