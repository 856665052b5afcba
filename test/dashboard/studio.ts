/** A square of two by two pixels. */
const png =
  "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAYAAABytg0kAAAAFElEQVR4nGNgYGD4DwIMDAwMDAwMAAAu7gP9Yz2+4AAAAABJRU5ErkJggg==";

const sampleRate = 8000;

/** Half a second of a tone. */
function tone(): Buffer {
  const samples = Array.from({ length: sampleRate / 2 }, (_, at) => 128 + Math.round(60 * Math.sin(at / 3)));
  const head = Buffer.alloc(44);
  head.write("RIFF", 0);
  head.writeUInt32LE(36 + samples.length, 4);
  head.write("WAVEfmt ", 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(sampleRate, 24);
  head.writeUInt32LE(sampleRate, 28);
  head.writeUInt16LE(1, 32);
  head.writeUInt16LE(8, 34);
  head.write("data", 36);
  head.writeUInt32LE(samples.length, 40);
  return Buffer.concat([head, Buffer.from(samples)]);
}

/** A provider of pictures and sound, which the demo does not have. */
export function startStudio(): Bun.Server<undefined> {
  return Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    routes: {
      "/v1/images/generations": () => Response.json({ created: 1, data: [{ b64_json: png }] }),
      "/v1/audio/speech": () => new Response(tone(), { headers: { "content-type": "audio/wav" } }),
      "/v1/audio/transcriptions": () =>
        Response.json({ text: "hello from a file", usage: { type: "duration", seconds: 1 } }),
    },
  });
}

export function pictureAndSound({ port }: Bun.Server<undefined>): string {
  return `
[providers.studio]
kind = "openai-compatible"
base_url = "http://127.0.0.1:${port}/v1"
[[models]]
id = "studio"
provider = "studio"
serves = ["images", "speech", "transcriptions"]
price = { images = 0.04, characters = 15.0, audio_minutes = 0.006 }
`;
}
