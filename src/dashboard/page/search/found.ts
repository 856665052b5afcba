import type { AccountView } from "../../../admin/accounts/schema.ts";
import type { KeyView } from "../../../admin/key-terms/schema.ts";
import type { ModelBriefView } from "../../../admin/models/schema.ts";
import type { ExchangeView } from "../../../admin/requests/schema.ts";
import { moment } from "../format.ts";
import { nameOfKey } from "../key-name.ts";
import { requestHref } from "../pages/exchange-table.tsx";
import { matchesOf } from "../parts/combo-matches.ts";
import { hrefOf, modelHref } from "../router.ts";

/** A search result. */
export interface Found {
  readonly text: string;
  readonly about: string;
  /** The address of a page, or what to do on this one. */
  readonly target: string | (() => void);
}

export interface Searched {
  readonly pages: readonly Found[];
  readonly actions: readonly Found[];
  readonly models: readonly ModelBriefView[];
  readonly accounts: readonly AccountView[];
  /** The keys that the server has found for the text. */
  readonly keys: readonly KeyView[];
}

const perKind = 5;

/** Search results by kind. For an empty text, pages and actions. */
export function findAll(typed: string, searched: Searched): readonly Found[] {
  const { pages, actions, models, accounts, keys } = searched;
  const text = typed.trim();
  if (text === "") return [...pages, ...actions];
  const ofModels = models.map(({ id }): Found => ({ text: id, about: "model", target: modelHref(id) }));
  const ofAccounts = accounts.map(
    ({ id, label }): Found => ({
      ...{ text: label ?? id, about: `account ${id}` },
      target: hrefOf(`accounts/${id}`),
    }),
  );
  return [
    ...requestsCalled(text),
    ...matchesOf(pages, text),
    ...matchesOf(actions, text),
    ...keys.slice(0, perKind).map((key) => keyFound(key, hrefOf(`keys/${key.id}`))),
    ...matchesWithAbout(ofAccounts, text).slice(0, perKind),
    ...matchesOf(ofModels, text).slice(0, perKind),
    {
      ...{ text: `Requests with “${text}”`, about: "search requests" },
      target: hrefOf(`requests?${new URLSearchParams({ search: text })}`),
    },
  ];
}

export interface SearchedByMember {
  readonly actions: readonly Found[];
  /** All of the member's keys. */
  readonly keys: readonly KeyView[];
  /** The requests of the shown key that the server has found for the text. */
  readonly requests: readonly ExchangeView[];
}

/** A member's own keys and requests, and what they can do. */
export function findOwn(typed: string, { actions, keys, requests }: SearchedByMember): readonly Found[] {
  const text = typed.trim();
  const ofKeys = keys.map((key) => keyFound(key, hrefOf(`?${new URLSearchParams({ key: key.id })}`)));
  const called = requestsCalled(text);
  return [
    ...called,
    ...matchesWithAbout(ofKeys, text).slice(0, perKind),
    ...matchesOf(actions, text),
    ...(called.length > 0 ? [] : requests.map(requestFound)),
  ];
}

function matchesWithAbout(found: readonly Found[], text: string): readonly Found[] {
  const lower = text.toLowerCase();
  const byAbout = found.filter(({ about }) => about.toLowerCase().includes(lower));
  return [...new Set([...matchesOf(found, text), ...byAbout])];
}

function requestsCalled(text: string): readonly Found[] {
  if (!/^req_\w{22}$/.test(text)) return [];
  return [{ text, about: "request", target: requestHref({ id: text, entry: null }) }];
}

function requestFound(request: ExchangeView): Found {
  const { model, route, outcome, code, at } = request;
  const about = ["request", moment(at), outcome, code].filter((part) => part !== null).join(" · ");
  return { text: model || route, about, target: requestHref(request) };
}

function keyFound(key: KeyView, target: string): Found {
  const { label, owner, prefix } = key;
  const about = ["key", `${prefix}…`, ...(label === null || owner === null ? [] : [`of ${owner}`])].join(" ");
  return { text: nameOfKey(key), about, target };
}
