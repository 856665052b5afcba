import { effect, signal } from "@preact/signals";
import { base } from "./router.ts";

/**
 * The theme lives in a cookie and not in local storage, so that the server can stamp it on the page and a
 * dark room never sees a white flash. Without a choice the system's own preference holds.
 */
export type Theme = "light" | "dark" | "system";

const stamped = document.documentElement.dataset["theme"];

export const theme = signal<Theme>(stamped === "light" || stamped === "dark" ? stamped : "system");

const systemIsDark = matchMedia("(prefers-color-scheme: dark)");
const systemDark = signal(systemIsDark.matches);
systemIsDark.addEventListener("change", (event) => {
  systemDark.value = event.matches;
});

/** Read by the charts, which paint on a canvas and are notified when the colours change. */
export function isDark(): boolean {
  return theme.value === "system" ? systemDark.value : theme.value === "dark";
}

export function keepThemeStamped(): void {
  effect(() => {
    const chosen = theme.value;
    if (chosen === "system") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = chosen;
    const age = chosen === "system" ? 0 : 31_536_000;
    // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is not in every browser yet.
    document.cookie = `sluice_theme=${chosen}; path=${base}; max-age=${age}; samesite=strict`;
  });
}

const order: readonly Theme[] = ["system", "light", "dark"];

export function nextTheme(): void {
  theme.value = order[(order.indexOf(theme.value) + 1) % order.length] ?? "system";
}
