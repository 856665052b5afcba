import { type Static, Type } from "@sinclair/typebox";
import { count, counted, moment, nullable, text } from "../routes/shapes.ts";

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
  request: body("As the client sent it, without data and secrets; a text if it was no JSON."),
  response: body("As the client got it, a stream joined; null if it got none."),
  upstream: nullable(
    Type.Object({
      request: body("What the provider was sent."),
      response: body("What the provider returned."),
    }),
  ),
  dropped: Type.Array(Type.String(), {
    description: "Fields of the request that the provider was not sent.",
  }),
  conversation: Type.Optional(
    Type.Array(Type.Unknown(), {
      description:
        "The items of the stored conversation that the request continued, oldest first; absent if it continued none, or it is gone.",
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
  bytes: counted("As it is kept: packed, and encrypted where that is on."),
});
export type ListedContentView = Static<typeof listedContentView>;

export const deletedContentView = Type.Object({ deleted: count });
