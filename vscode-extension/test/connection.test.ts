import { expect, it, vi } from "vitest";
import { Connection } from "../src/connection/connection";
import { Traffic } from "../src/connection/traffic";

const peer = { told: () => undefined, asked: () => Promise.resolve(), refused: () => undefined };
const traffic = new Traffic(
  () => false,
  () => undefined,
);

function connectionTo(program: string): Connection {
  const start = { program, cwd: "/", environment: process.env, version: "1", title: "VS Code" };
  const sending = (_: string, params: object): object => params;
  return new Connection(
    () => Promise.resolve(start),
    { ...peer, sending },
    () => undefined,
    traffic,
  );
}

it("comes back, and tells everybody, whoever of those who are told throws", async () => {
  const said = vi.spyOn(console, "error").mockReturnValue(undefined);
  const connection = connectionTo("false");
  const told: string[] = [];
  connection.onDidChangeState(() => {
    throw new Error("A view has a fault.");
  });
  connection.onDidChangeState((state) => told.push(state));
  await connection.connect();
  await vi.waitUntil(() => told.length >= 4, { timeout: 30_000 });
  connection.dispose();
  expect(told.slice(0, 4)).toEqual(["connecting", "waiting", "connecting", "waiting"]);
  expect(said).toHaveBeenCalled();
});
