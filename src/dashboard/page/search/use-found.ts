import type { AccountList } from "../../../admin/accounts/schema.ts";
import type { Page } from "../../../admin/formats/shapes.ts";
import type { KeyList } from "../../../admin/key-terms/schema.ts";
import type { ExchangeView } from "../../../admin/requests/schema.ts";
import { api, session, signOut, useAnswer, useLoaded } from "../api.ts";
import { useModels } from "../model-list.ts";
import { hrefOf, query } from "../router.ts";
import { nextTheme } from "../theme.ts";
import { otherZone } from "../zone.ts";
import { type Found, findAll, findOwn, type Searched } from "./found.ts";

const minLength = 2;
const asked = 5;

/** What the server finds for a text; nothing for a shorter one. */
function useSearched<Item>(name: string, typed: string, load: (search: string) => Promise<readonly Item[]>) {
  const search = typed.trim();
  const isAsked = search.length >= minLength;
  const found = useLoaded(`search ${name} ${search}`, () => (isAsked ? load(search) : Promise.resolve([])));
  return isAsked ? (found.value ?? []) : [];
}

export function useFound(typed: string, pages: Searched["pages"]): readonly Found[] {
  const models = useModels();
  const accounts = useAnswer<AccountList>("/accounts");
  const keys = useSearched(
    "keys",
    typed,
    async (search) => (await api.get<KeyList>("/keys", { search, limit: asked })).data,
  );
  return findAll(typed, {
    ...{ pages, keys, actions: [...pageActions(), ...adminActions(), ...viewActions] },
    models: models.value?.data ?? [],
    accounts: accounts.value?.data ?? [],
  });
}

export function useOwnFound(typed: string): readonly Found[] {
  const keys = useAnswer<KeyList>("/keys", 0, { limit: 200, owner: "me" }).value?.data ?? [];
  const key = query.value.get("key") ?? keys[0]?.id;
  const requests = useSearched(`requests of ${key}`, typed, async (search) =>
    key === undefined
      ? []
      : (await api.get<Page<ExchangeView>>("/requests", { key, search, limit: asked })).data,
  );
  return findOwn(typed, { keys, requests, actions: [...pageActions(), ...viewActions] });
}

const viewActions: readonly Found[] = [
  { text: "Times in another zone", about: "your own, or UTC", target: otherZone },
  { text: "Another theme", about: "light, dark, or the system's", target: nextTheme },
  { text: "Sign out", about: "action", target: () => void signOut() },
];

/** A page opens the dialog that its address names. */
function adminActions(): readonly Found[] {
  if (session.value?.role !== "admin") return [];
  const links = {
    "New key": "keys?do=key",
    "New account": "accounts?do=account",
    "New cap by owner, end user or tag": "accounts?do=cap",
    "Reload the configuration": "system?do=reload",
  };
  return Object.entries(links).map(([text, path]) => ({ text, about: "action", target: hrefOf(path) }));
}

/** What the head of the shown page offers, its menu too. */
function pageActions(): readonly Found[] {
  const buttons = document.querySelectorAll<HTMLButtonElement>(
    ":is(.page-head, .self-service .filters) button",
  );
  return [...buttons]
    .filter(({ disabled }) => !disabled)
    .map((button) => ({ button, text: button.textContent.replace("…", "").trim() }))
    .filter(({ text }, place, all) => all.findIndex((other) => other.text === text) === place)
    .map(({ button, text }) => ({ text, about: "action on this page", target: () => button.click() }));
}
