import { GatewayError } from "../../base/errors.ts";
import { unknownModelMessage } from "../../base/models/unknown-model.ts";
import type { ModelSettings } from "../../config/settings.ts";
import { plainErrors } from "../../dialects/registry.ts";
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
import { commonHeaders } from "../response/headers.ts";
import { modelListFor } from "./model-list.ts";
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

/** The public catalog without a key, else the key's own. A bad credential does not fall back to the public one. */
async function listModels(gateway: Gateway, exchange: Exchange): Promise<Response> {
  const key = await admitOptional(gateway, exchange);
  const list = modelListFor(exchange, key);
  // Codex sends its version, and cannot read the contract's list.
  if (!urlOf(exchange.call).searchParams.has("client_version")) return writtenList(exchange, list.plain);
  const { body, etag } = list.codex;
  return writtenList(exchange, body, { etag });
}

const asJson = { "content-type": "application/json;charset=utf-8" };

/** A list of models that is JSON already. */
export function writtenList(exchange: Exchange, body: Blob | string, more: object = {}): Response {
  return new Response(body, { headers: { ...commonHeaders(exchange), ...asJson, ...more } });
}

/** One model, by its id or an alias. A model that the caller cannot use is not found, as in the list. */
async function showModel(gateway: Gateway, exchange: Exchange): Promise<Response> {
  const model = await findShown(gateway, exchange);
  return Response.json(exchange.configured.catalog.show(model, exchange.atMs), {
    headers: commonHeaders(exchange),
  });
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

/** The part of the path that matches the route's wildcard. The edge has refused what cannot be decoded. */
function nameIn(exchange: Exchange): string {
  return decodeURIComponent(urlOf(exchange.call).pathname.slice(exchange.call.route.path.length - 1));
}
