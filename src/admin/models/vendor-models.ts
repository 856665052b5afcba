import type { JsonObject } from "../../base/json.ts";
import { abortAfter } from "../../base/loop/deadline.ts";
import { withoutSecrets } from "../../base/secrets/secrets.ts";
import { limitedText } from "../../base/text/limited-text.ts";
import { parseObject } from "../../dialects/json/json-fields.ts";
import type { CredentialUse } from "../../vendors/credentials/credential.ts";
import { TokenSources } from "../../vendors/credentials/token-sources.ts";
import type { ModelDescription, ModelDetails, ModelList, VendorModel } from "../../vendors/model-list.ts";
import type { ProviderSettings } from "../../vendors/provider.ts";
import { createProvider, vendorOf } from "../../vendors/registry.ts";
import { unreachableText } from "./unreachable.ts";

/** Time limit for the whole list of one provider. */
const timeoutMs = 3_000;
/** OpenRouter's list is about one megabyte. */
const maxPageBytes = 16 * 1024 * 1024;
const maxPages = 20;
/** Each description is a separate request, sent one after another. */
const maxDescribed = 100;

/** A provider's list could not be read. The message completes a sentence that starts with the provider's name. */
export class ModelListUnavailable extends Error {
  override readonly name = "ModelListUnavailable";
}

/** Whether Sluice can read a list of models from providers of this kind. */
export function hasModelList(settings: ProviderSettings): boolean {
  return vendorOf(settings.kind).modelLists?.(settings) !== undefined;
}

/** Reads the provider's own lists of models, with the first of its keys. Throws a `ModelListUnavailable`. */
export async function vendorModels(settings: ProviderSettings): Promise<readonly VendorModel[]> {
  const lists = vendorOf(settings.kind).modelLists?.(settings);
  if (lists === undefined)
    throw new ModelListUnavailable(`is of kind "${settings.kind}", which has no list that Sluice can read`);
  const tokens = new TokenSources();
  const signal = abortAfter(timeoutMs);
  try {
    const use = createProvider(settings, { tokens }).credentials[0]?.use() ?? null;
    await use?.prepare();
    const found = await Promise.all(lists.map((list) => allPages({ settings, list, use, signal })));
    return found.flat();
  } catch (error) {
    throw error instanceof ModelListUnavailable
      ? error
      : new ModelListUnavailable(withoutSecrets(unreachableText(error, timeoutMs)));
  } finally {
    tokens.stop();
  }
}

interface ListRequest {
  readonly settings: ProviderSettings;
  readonly list: ModelList;
  readonly use: CredentialUse | null;
  readonly signal: AbortSignal;
}

async function allPages(request: ListRequest): Promise<readonly VendorModel[]> {
  const { list, settings } = request;
  const models: VendorModel[] = [];
  let query = list.query ?? "";
  for (let pages = 0; pages < maxPages; pages += 1) {
    const page = await readPage(`${list.url(settings)}${query === "" ? "" : `?${query}`}`, request);
    models.push(...page.models);
    if (page.next === null || page.next === query) break;
    query = page.next;
  }
  let described: readonly VendorModel[] = models;
  for (const details of list.details ?? []) described = await withDetails(described, details, request);
  for (const description of list.describe ?? [])
    described = await describeAll(described, description, request);
  return described;
}

/** Adds what the server's other list has. */
async function withDetails(
  models: readonly VendorModel[],
  details: ModelDetails,
  request: ListRequest,
): Promise<readonly VendorModel[]> {
  const url = details.url(request.settings, models);
  if (url === null || models.every(({ contextWindow }) => contextWindow !== null)) return models;
  const body = await readObject(url, { headers: headersFor(url, request, "GET") }, request);
  const found = typeof body === "string" ? null : details.read(body);
  return found === null ? models : models.map((model) => ({ ...model, ...found.get(model.id) }));
}

/** Adds what the list lacks. Stops at the first model for which the server lacks the path, as most servers do. */
async function describeAll(
  models: readonly VendorModel[],
  description: ModelDescription,
  request: ListRequest,
): Promise<readonly VendorModel[]> {
  const described: VendorModel[] = [];
  for (const [at, model] of models.entries()) {
    const url = at < maxDescribed ? description.url(request.settings, model) : null;
    const body = url === null ? "nothing" : await describeOne(url, description.body?.(model.id), request);
    if (body === "no path") return [...described, ...models.slice(at)];
    described.push(body === "nothing" ? model : { ...model, ...description.read(body, model) });
  }
  return described;
}

function describeOne(url: string, body: JsonObject | undefined, request: ListRequest): Promise<Described> {
  const method = body === undefined ? "GET" : "POST";
  const headers = { ...headersFor(url, request, method), "content-type": "application/json" };
  const init = body === undefined ? {} : { body: JSON.stringify(body) };
  return readObject(url, { method, headers, ...init }, request);
}

type Described = JsonObject | "nothing" | "no path";

async function readObject(url: string, init: RequestInit, { signal }: ListRequest): Promise<Described> {
  try {
    const response = await fetch(url, { ...init, signal, redirect: "manual" });
    const text = await limitedText(response, maxPageBytes, tooLong);
    // llama.cpp's router rejects requests about models that are not loaded.
    if (response.status === 400) return "nothing";
    return response.status === 200 ? (parseObject(text) ?? "nothing") : "no path";
  } catch {
    return "no path";
  }
}

function headersFor(
  url: string,
  { settings, list, use }: ListRequest,
  method: "GET" | "POST",
): Record<string, string> {
  const { host, pathname, search } = new URL(url);
  const headers = { accept: "application/json", "user-agent": "sluice", ...list.headers };
  const signed =
    method === "GET" ? use?.sign?.({ method, host, target: pathname + search, headers, body: "" }) : {};
  return { ...headers, ...use?.headers(), ...signed, ...settings.headers };
}

async function readPage(url: string, request: ListRequest) {
  // A redirect is not followed: the key is for this address only.
  const { signal, list } = request;
  const response = await fetch(url, { headers: headersFor(url, request, "GET"), signal, redirect: "manual" });
  const text = await limitedText(response, maxPageBytes, tooLong);
  if (response.status !== 200)
    throw new ModelListUnavailable(`${response.status}; ${adviceFor(response.status, request)}`);
  const body = parseObject(text);
  const page = body === null ? null : list.read(body);
  if (page === null) throw new ModelListUnavailable("returned no list of models; check base_url");
  return page;
}

function tooLong(): ModelListUnavailable {
  return new ModelListUnavailable("returned a list of more than 16 MiB; check base_url");
}

function adviceFor(status: number, { use }: ListRequest): string {
  if (status === 401 && use === null) return "it needs a key; set api_key";
  if (status === 401 || status === 403) return "it rejects the key; check api_key";
  if (status === 429) return "its rate limit is used up; try again later";
  return status >= 500 ? "the provider has a problem; try again later" : "check base_url";
}
