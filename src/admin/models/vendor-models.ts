import { abortAfter } from "../../base/loop/deadline.ts";
import { withoutSecrets } from "../../base/secrets/secrets.ts";
import { systemCode } from "../../base/system/system-code.ts";
import { parseObject } from "../../dialects/json/json-fields.ts";
import { CredentialUnavailable } from "../../vendors/credentials/credential.ts";
import { TokenSources } from "../../vendors/credentials/token-sources.ts";
import type { ModelList, VendorModel } from "../../vendors/model-list.ts";
import type { ProviderSettings } from "../../vendors/provider.ts";
import { createProvider, vendorOf } from "../../vendors/registry.ts";
import { certificateProblem } from "../../wire/certificate-problem.ts";

/** For the whole list of one provider. */
const timeoutMs = 3_000;
/** OpenRouter's list has about one megabyte. */
const maxPageBytes = 16 * 1024 * 1024;
const maxPages = 20;

/** Why a provider's list could not be read, as the end of a sentence that starts with the provider's name. */
export class ModelListUnavailable extends Error {
  override readonly name = "ModelListUnavailable";
}

/** Reads the provider's own list of models, with the first of its keys. Throws a `ModelListUnavailable`. */
export async function vendorModels(settings: ProviderSettings): Promise<readonly VendorModel[]> {
  const { modelList } = vendorOf(settings.kind);
  if (modelList === undefined)
    throw new ModelListUnavailable(`is of kind "${settings.kind}", which has no list that Sluice can read`);
  const tokens = new TokenSources();
  try {
    return await allPages(settings, modelList, await headersFor(settings, modelList, tokens));
  } catch (error) {
    throw error instanceof ModelListUnavailable
      ? error
      : new ModelListUnavailable(withoutSecrets(problemOf(error)));
  } finally {
    tokens.stop();
  }
}

async function headersFor(
  settings: ProviderSettings,
  { headers }: ModelList,
  tokens: TokenSources,
): Promise<Record<string, string>> {
  const use = createProvider(settings, { tokens }).credentials[0]?.use() ?? null;
  await use?.prepare();
  return {
    accept: "application/json",
    "user-agent": "sluice",
    ...headers,
    ...use?.headers(),
    ...settings.headers,
  };
}

async function allPages(
  settings: ProviderSettings,
  list: ModelList,
  headers: Record<string, string>,
): Promise<readonly VendorModel[]> {
  const signal = abortAfter(timeoutMs);
  const models: VendorModel[] = [];
  let query = list.query ?? "";
  for (let pages = 0; pages < maxPages; pages += 1) {
    const page = await readPage(
      `${list.url(settings)}${query === "" ? "" : `?${query}`}`,
      headers,
      signal,
      list,
    );
    models.push(...page.models);
    if (page.next === null || page.next === query) return models;
    query = page.next;
  }
  return models;
}

async function readPage(url: string, headers: Record<string, string>, signal: AbortSignal, list: ModelList) {
  // A redirect is not followed: the key is for this address only.
  const response = await fetch(url, { headers, signal, redirect: "manual" });
  const text = await limitedText(response);
  if (response.status !== 200)
    throw new ModelListUnavailable(`${response.status}; ${adviceFor(response.status)}`);
  const body = parseObject(text);
  const page = body === null ? null : list.read(body);
  if (page === null) throw new ModelListUnavailable("returned no list of models; check base_url");
  return page;
}

async function limitedText(response: Response): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of response.body ?? []) {
    bytes += piece.length;
    if (bytes > maxPageBytes)
      throw new ModelListUnavailable("returned a list of more than 16 MiB; check base_url");
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}

function adviceFor(status: number): string {
  if (status === 401 || status === 403) return "it rejects the key; check api_key";
  if (status === 429) return "its rate limit is used up; try again later";
  return status >= 500 ? "the provider has a problem; try again later" : "check base_url";
}

function problemOf(error: unknown): string {
  if (error instanceof CredentialUnavailable) return `no credential: ${error.message}`;
  if (error instanceof Error && error.name === "TimeoutError")
    return `no response within ${timeoutMs / 1000} s; check base_url and the network, then try again`;
  const certificate = certificateProblem(error);
  if (certificate !== null) return `its certificate ${certificate.message}`;
  const code = systemCode(error);
  return `cannot be reached${code === null ? "" : ` (${code})`}; check base_url and the network`;
}
