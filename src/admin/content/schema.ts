import { type Static, Type } from "@sinclair/typebox";
import { count, counted, moment, nullable, text } from "../formats/shapes.ts";

const body = (description: string) => Type.Unsafe<unknown>({ description });

const labels = Type.Object({
  session: nullable(Type.String()),
  user: nullable(Type.String()),
  tags: Type.Record(Type.String(), Type.String()),
});

const common = {
  id: Type.String(),
  time: moment,
  model: nullable(Type.String()),
  key: text("The key's prefix."),
  labels,
};

export const contentView = Type.Object({
  ...common,
  route: Type.String(),
  status: Type.Integer(),
  outcome: Type.String(),
  request: body("The request body without binary data and secrets; a string if it was not JSON."),
  response: body("The response that the client got, streams joined; null if it got none."),
  upstream: nullable(
    Type.Object({
      request: body("The request to the provider."),
      response: body("The provider's response."),
    }),
  ),
  dropped: Type.Array(Type.String(), {
    description: "Request fields that were not sent to the provider.",
  }),
  conversation: Type.Optional(
    Type.Array(Type.Unknown(), {
      description:
        "The items of the stored conversation that the request continued, oldest first. Absent if there is none, or it was deleted.",
    }),
  ),
  request_cut: counted("How many bytes of the request were cut."),
  response_cut: counted("How many bytes of the response were cut."),
});

export type ContentView = Static<typeof contentView>;

export const contentExportView = Type.Object({
  ...common,
  request: contentView.properties.request,
  response: contentView.properties.response,
});

export const listedContentView = Type.Object({
  id: Type.String(),
  time: moment,
  model: nullable(Type.String()),
  key: common.key,
  owner: nullable(Type.String()),
  outcome: Type.String(),
  bytes: counted("Stored size: compressed, and encrypted if `content.key` is set."),
});
export type ListedContentView = Static<typeof listedContentView>;

export const deletedContentView = Type.Object({ deleted: count });
