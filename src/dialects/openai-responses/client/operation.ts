import type { ClientOperation } from "../../client-dialect.ts";
import { responsesRequest, responsesResponse } from "./schema.ts";

export const operation: ClientOperation = {
  operationId: "createResponse",
  summary: "Create responses result",
  request: "ResponsesRequest",
  response: "ResponsesResponse",
  events: "Events named by their `type`, ended by `response.completed`, `.incomplete` or `.failed`.",
  schemas: { ResponsesRequest: responsesRequest, ResponsesResponse: responsesResponse },
};
