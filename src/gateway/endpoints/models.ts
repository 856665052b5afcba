import { GatewayError } from "../../base/errors.ts";
import { unknownModelMessage } from "../../base/models/unknown-model.ts";
import { codexModel } from "../../catalog/codex-model.ts";
import type { ModelSettings } from "../../config/settings.ts";
import { isCharged, routesFor } from "../../dialects/metered/registry.ts";
import { plainErrors } from "../../dialects/registry.ts";
import type { KeyRecord } from "../../store/store.ts";
import { admitOptional } from "../admission/admit.ts";
import { urlOf } from "../exchange/client-call.ts";
import type { Exchange } from "../exchange/exchange.ts";
import type { Gateway } from "../exchange/gateway.ts";
import {
  freeOfCharge,
  rateHeaders,
  readingCodes,
  type ServedOperation,
} from "../exchange/served-operation.ts";
import { isPayable } from "../request/model.ts";
import { commonHeaders } from "../response/headers.ts";
import { model, modelList } from "./models-schema.ts";

const describing = {
  method: "GET",
  errors: plainErrors,
  keyHeader: "x-api-key",
  ...freeOfCharge,
  needsKey: false,
  headers: rateHeaders,
} as const;

export const listModelsOperation: ServedOperation = {
  ...describing,
  path: "/v1/models",
  codes: readingCodes,
  description: {
    operationId: "listModels",
    summary: "List models",
    description:
      "Without a credential the public catalog; with one, the models within the key's provider scope and entitlements.",
    response: "ModelList",
    schemas: { Model: model, ModelList: modelList },
  },
  run: listModels,
};

export const showModelOperation: ServedOperation = {
  ...describing,
  // An id may have slashes, as sent or percent-encoded.
  path: "/v1/models/*",
  codes: [...readingCodes, "invalid_request", "model_not_found"],
  description: {
    operationId: "getModel",
    summary: "Describe a model",
    description:
      "By its id or an alias. A model outside the public catalog, or the key's provider scope and entitlements, is not found.",
    inPath: "model",
    response: "Model",
    schemas: {},
  },
  run: showModel,
};

/**
 * The public catalog without a key, else the key's own. A bad credential does not fall back to the public one. By the
 * contract the list has no field but these two. Anthropic's clients stop paging where `has_more` is absent.
 */
async function listModels(gateway: Gateway, exchange: Exchange): Promise<Response> {
  const key = await admitOptional(gateway, exchange);
  if (urlOf(exchange.call).searchParams.has("client_version")) return listForCodex(exchange, key);
  const data = listed(exchange, key);
  return Response.json({ object: "list", data }, { headers: commonHeaders(exchange) });
}

/** Codex sends its version, and cannot read the contract's list. */
function listForCodex(exchange: Exchange, key: KeyRecord | null): Response {
  const { catalog } = exchange.configured;
  const generates = ({ id }: { readonly id: string }) => catalog.find(id)?.serves.includes("generation");
  const models = listed(exchange, key).filter(generates).map(codexModel);
  const etag = `"${Bun.SHA256.hash(JSON.stringify(models), "hex")}"`;
  return Response.json({ models }, { headers: { ...commonHeaders(exchange), etag } });
}

/** One model, by its id or an alias. A model that the caller cannot use is not found, as in the list. */
async function showModel(gateway: Gateway, exchange: Exchange): Promise<Response> {
  const model = await findShown(gateway, exchange);
  return Response.json(exchange.configured.catalog.show(model), { headers: commonHeaders(exchange) });
}

export async function findShown(gateway: Gateway, exchange: Exchange): Promise<ModelSettings> {
  const key = await admitOptional(gateway, exchange);
  const { catalog } = exchange.configured;
  const name = nameIn(exchange);
  const model = catalog.find(name);
  const isVisible = model !== undefined && (key === null ? model.public : catalog.permits(key, model));
  if (!isVisible) {
    throw new GatewayError("model_not_found", unknownModelMessage(name), { param: "model" });
  }
  return model;
}

export function listed({ configured: { catalog } }: Exchange, key: KeyRecord | null) {
  if (key === null) return catalog.list(catalog.publicModels());
  const models = catalog.modelsFor(key);
  return catalog.list(key.mode === "credit" ? models.filter(isForCredit) : models);
}

/** A model without a price is rejected for credit keys, on the routes that are charged. */
function isForCredit(model: ModelSettings): boolean {
  return isPayable(model) || routesFor(model.serves).some((route) => !isCharged(route));
}

/** The part of the path that matches the route's wildcard. The edge has refused what cannot be decoded. */
function nameIn(exchange: Exchange): string {
  return decodeURIComponent(urlOf(exchange.call).pathname.slice(exchange.call.route.path.length - 1));
}
