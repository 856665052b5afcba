import { z } from "zod";
import type { BodyDialectName } from "../../support/body-dialects.ts";
import type { Access } from "../drivers/client.ts";

/** A framework that runs an agent's loop by itself: it asks, runs the tools that are called, and asks again. */
export interface Framework {
  readonly name: string;
  /** The dialects that it can speak. */
  readonly dialects: readonly BodyDialectName[];
  /** Resolves to the last answer's text. What the tools are called with is added to `calls`. */
  run(errand: FrameworkRun): Promise<string>;
}

export interface FrameworkRun {
  readonly access: Access;
  readonly dialect: BodyDialectName;
  readonly stream: boolean;
  readonly calls: string[];
}

export const instructions = "Answer briefly.";
export const question = "What are the weather and the time in Paris, and the weather in Oslo?";
export const place = z.object({ city: z.string() });

export interface FrameworkTool {
  readonly name: string;
  readonly description: string;
  readonly execute: (input: { readonly city: string }) => string;
}

/** The tools of the errand, which note what they were called with. */
export function toolsOf({ calls }: FrameworkRun): FrameworkTool[] {
  const noted = (name: string, description: string, say: (city: string) => string): FrameworkTool => ({
    name,
    description,
    execute: ({ city }) => {
      calls.push(`${name} ${city}`);
      return say(city);
    },
  });
  return [
    noted("get_weather", "The weather of a city, now.", (city) => `18 degrees in ${city}`),
    noted("get_time", "The local time of a city.", (city) => `${city}: 14:05`),
  ];
}

/** In the order of the errand. */
export const expectedCalls = ["get_weather Paris", "get_time Paris", "get_weather Oslo"];
