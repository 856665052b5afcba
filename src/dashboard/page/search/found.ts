import type { AccountView } from "../../../admin/accounts/schema.ts";
import type { KeyView } from "../../../admin/key-terms/schema.ts";
import type { ModelBriefView } from "../../../admin/models/schema.ts";
import { matchesOf } from "../parts/combo-matches.ts";
import { hrefOf, modelHref } from "../router.ts";

/** A search result: a place to go to. */
export interface Found {
  readonly kind: "page" | "key" | "account" | "model" | "request";
  readonly text: string;
  readonly about: string;
  readonly href: string;
}

export interface Searched {
  readonly pages: readonly { readonly path: string; readonly title: string }[];
  readonly models: readonly ModelBriefView[];
  readonly accounts: readonly AccountView[];
  /** The keys that the server has found for the text. */
  readonly keys: readonly KeyView[];
}

const perKind = 5;

/** Search results by kind. For an empty text, the pages. */
export function findAll(typed: string, { pages, models, accounts, keys }: Searched): readonly Found[] {
  const text = typed.trim();
  const ofPages = pages.map(
    ({ path, title }): Found => ({ kind: "page", text: title, about: "page", href: hrefOf(path) }),
  );
  if (text === "") return ofPages;
  const ofModels = models.map(
    ({ id }): Found => ({ kind: "model", text: id, about: "model", href: modelHref(id) }),
  );
  const ofAccounts = accounts.map(
    ({ id, label }): Found => ({
      kind: "account",
      text: label ?? id,
      about: `account ${id}`,
      href: hrefOf(`accounts/${id}`),
    }),
  );
  const byId = ofAccounts.filter(({ about }) => about.includes(text));
  const accountMatches = new Set([...matchesOf(ofAccounts, text), ...byId]);
  return [
    ...requestsCalled(text),
    ...matchesOf(ofPages, text),
    ...keys.slice(0, perKind).map(keyFound),
    ...[...accountMatches].slice(0, perKind),
    ...matchesOf(ofModels, text).slice(0, perKind),
    {
      kind: "request",
      text: `Requests with “${text}”`,
      about: "search requests",
      href: hrefOf(`requests?${new URLSearchParams({ search: text })}`),
    },
  ];
}

function requestsCalled(text: string): readonly Found[] {
  if (!/^req_\w{22}$/.test(text)) return [];
  return [{ kind: "request", text, about: "request", href: hrefOf(`requests/${text}`) }];
}

function keyFound({ id, label, owner, prefix }: KeyView): Found {
  const about = ["key", `${prefix}…`, ...(owner === null ? [] : [`of ${owner}`])].join(" ");
  return { kind: "key", text: label ?? `${prefix}…`, about, href: hrefOf(`keys/${id}`) };
}
