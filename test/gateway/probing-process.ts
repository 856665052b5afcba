/** Asks for `/healthz` until its input ends, and prints how many milliseconds the slowest answer took. */
const url = `${process.argv[2]}/healthz`;
let isOver = false;
let slowestMs = 0;

void Bun.stdin.text().then(() => {
  isOver = true;
});

while (!isOver) {
  const askedMs = performance.now();
  await (await fetch(url)).text();
  slowestMs = Math.max(slowestMs, performance.now() - askedMs);
  await Bun.sleep(2);
}
console.log(slowestMs);

export {};
