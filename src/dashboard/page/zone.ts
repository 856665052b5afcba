import { signal } from "@preact/signals";

/** Days, budgets and reports are in UTC. Times are in the reader's own time zone, or in UTC if they choose so. */
export type Zone = "UTC" | "local";

const name = "sluice_zone";

/** Reading throws if the browser blocks storage, and outside a browser. */
function savedZone(): Zone {
  try {
    return localStorage.getItem(name) === "UTC" ? "UTC" : "local";
  } catch {
    return "local";
  }
}

export const zone = signal<Zone>(savedZone());

export function otherZone(): void {
  zone.value = zone.value === "UTC" ? "local" : "UTC";
  try {
    localStorage.setItem(name, zone.value);
  } catch {
    // It holds for this tab only.
  }
}
