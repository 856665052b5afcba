import { computed, signal } from "@preact/signals";

/** The page's URL is its state, so a filter or an open request can be bookmarked and shared. */
const here = signal(new URL(location.href));

addEventListener("popstate", () => {
  here.value = new URL(location.href);
});

/** The dashboard and the self-service page are one script. */
export const isSelfServicePage = /^\/usage(\/|$)/.test(location.pathname);
export const base = isSelfServicePage ? "/usage" : "/admin";

/** The path below the base, without slashes at either end; empty for the overview. */
export const path = computed(() =>
  here.value.pathname.slice(base.length).replace(/^\//, "").replace(/\/$/, ""),
);

export const query = computed(() => here.value.searchParams);

/** The URL parameters of these names; null for those that are not set. */
export function parameters<Name extends string>(names: readonly Name[]): Record<Name, string | null> {
  // One for each name.
  return Object.fromEntries(names.map((name) => [name, query.value.get(name)])) as Record<
    Name,
    string | null
  >;
}

export function hrefOf(target: string): string {
  return target === "" ? base : `${base}/${target}`;
}

/** The page of a model. Slashes stay, because a server may reject encoded ones. */
export function modelHref(id: string): string {
  return hrefOf(`models/${id.split("/").map(encodeURIComponent).join("/")}`);
}

export function goTo(href: string): void {
  history.pushState(null, "", href);
  here.value = new URL(location.href);
  scrollTo(0, 0);
}

/** Filters replace the address, so that one step back leaves the page and not the last letter typed. */
export function setQuery(changes: Readonly<Record<string, string | null>>): void {
  const next = new URL(here.value);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === "") next.searchParams.delete(name);
    else next.searchParams.set(name, value);
  }
  history.replaceState(null, "", next);
  here.value = next;
}

/** A URL parameter and its setter. Setting it restarts a list at its first page. */
export function parameter(name: string): readonly [value: string, set: (value: string) => void] {
  return [query.value.get(name) ?? "", (value) => setQuery({ [name]: value, cursor: null })];
}

/** Turns plain links into page changes; a click with a modifier still opens a tab. */
export function followLinks(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey)
    return;
  const link = event.target instanceof Element ? linkAt(event.target) : null;
  if (link?.target !== "" || link.origin !== location.origin) return;
  if (!link.pathname.startsWith(base) || /^\/\w+\/(api|oidc)\//.test(link.pathname)) return;
  event.preventDefault();
  goTo(link.href);
}

/** A row leads where its first cell does; what else can be pressed in it, and text that was selected, does not. */
function linkAt(pressed: Element): HTMLAnchorElement | null {
  if (getSelection()?.type === "Range") return pressed.closest("a");
  const nearest = pressed.closest("a, button, input, select, label, details, dialog, tr");
  return nearest?.matches("tr") ? nearest.querySelector<HTMLAnchorElement>(".lead a") : pressed.closest("a");
}
