import { Type } from "@sinclair/typebox";
import { invalidRequest } from "../../base/errors.ts";
import { clientDialect, clientDialectNames } from "../../dialects/registry.ts";
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
import { googleModel } from "./google-model.ts";
import { modelListFor } from "./model-list.ts";
import { findShown, writtenList } from "./models.ts";

const googleModelSchema = Type.Object({
  name: Type.String(),
  version: Type.String(),
  displayName: Type.String(),
  description: Type.Optional(Type.String()),
  inputTokenLimit: Type.Optional(Type.Integer()),
  outputTokenLimit: Type.Optional(Type.Integer()),
  supportedGenerationMethods: Type.Array(Type.String()),
  thinking: Type.Boolean(),
});

const schemas = {
  GoogleModel: googleModelSchema,
  GoogleModelList: Type.Object({
    models: Type.Array(googleModelSchema),
    nextPageToken: Type.Optional(Type.String()),
  }),
};

const maxPage = 1000;
const usualPage = 50;

/** Models in Google's format, for the dialects whose paths have them. */
export const googleModelOperations: readonly ServedOperation[] = clientDialectNames.flatMap((name) => {
  const { inPath, route, errorFormat } = clientDialect(name);
  if (inPath === undefined) return [];
  const describing = {
    ...route,
    method: "GET",
    switchedBy: inPath.switchedBy,
    ...freeOfCharge,
    needsKey: false,
    errors: errorFormat,
    codes: [...readingCodes, "invalid_request", "model_not_found"],
    headers: rateHeaders,
  } as const;
  return ["/v1beta/models", "/v1alpha/models"].flatMap((path): ServedOperation[] => [
    {
      ...describing,
      path,
      description: {
        operationId: "listGoogleModels",
        summary: "List models",
        description: `\`pageSize\` (${usualPage}, at most ${maxPage}) and \`pageToken\` page through the list.`,
        response: "GoogleModelList",
        schemas,
      },
      run: listModels,
    },
    {
      ...describing,
      path: `${path}/*`,
      description: {
        operationId: "getGoogleModel",
        summary: "Describe a model",
        inPath: "model",
        response: "GoogleModel",
        schemas,
      },
      run: showModel,
    },
  ]);
});

/** `/v1/models` in Google's format, for clients that show that they expect it; null for other routes. */
export function otherFormat({
  method,
  path,
}: Pick<ServedOperation, "method" | "path">): ServedOperation | null {
  if (method !== "GET") return null;
  const same = googleModelOperations.find((each) => each.path.replace("/v1beta/", "/v1/") === path);
  return same === undefined ? null : { ...same, path };
}

async function listModels(gateway: Gateway, exchange: Exchange): Promise<Response> {
  const key = await admitOptional(gateway, exchange);
  const { searchParams } = urlOf(exchange.call);
  const from = numberIn(searchParams, "pageToken", 0);
  const size = numberIn(searchParams, "pageSize", usualPage);
  const { google: all } = modelListFor(exchange, key);
  const next = from + Math.min(size || usualPage, maxPage);
  const more = next < all.length ? `,"nextPageToken":"${next}"` : "";
  return writtenList(exchange, `{"models":[${all.slice(from, next).join()}]${more}}`);
}

function numberIn(query: URLSearchParams, name: string, absent: number): number {
  const text = query.get(name) ?? "";
  if (text === "") return absent;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw invalidRequest(`\`${name}\` must be a whole number.`, name);
}

async function showModel(gateway: Gateway, exchange: Exchange): Promise<Response> {
  const model = await findShown(gateway, exchange);
  return Response.json(googleModel(exchange.configured.catalog.show(model, exchange.atMs), model), {
    headers: commonHeaders(exchange),
  });
}
