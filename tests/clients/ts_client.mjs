// An ACP client on the official TypeScript SDK. Runs one scenario (a JSON file, see soultest/clients.py) against an agent
// it spawns, and prints one JSON line per event it understood. Everything on the wire goes to the scenario's `wire` file.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import { Readable, Writable } from 'node:stream';
import * as acp from '@agentclientprotocol/sdk';

const scenario = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));
const wire = fs.openSync(scenario.wire, 'a');
const say = (event) => process.stdout.write(`${JSON.stringify(event)}\n`);
const [command, ...args] = scenario.command;
const agent = spawn(command, args, { cwd: scenario.cwd, stdio: ['pipe', 'pipe', 'inherit'] });

// Byte taps that keep whole lines together in the log.
const seen = { updates: 0, handled: 0 };
const tap = (from) => {
  let rest = '';
  return new TransformStream({
    transform(chunk, controller) {
      const lines = (rest + Buffer.from(chunk).toString('utf8')).split('\n');
      rest = lines.pop();
      for (const line of lines) {
        fs.writeSync(wire, `${JSON.stringify({ from, line })}\n`);
        if (from === 'agent' && line.includes('"session/update"')) seen.updates += 1;
      }
      controller.enqueue(chunk);
    },
  });
};
const toAgent = tap('client');
toAgent.readable.pipeTo(Writable.toWeb(agent.stdin)).catch(() => {});
const fromAgent = Readable.toWeb(agent.stdout).pipeThrough(tap('agent'));

let onUpdate = () => {};
const client = acp
  .client({ name: 'ts-sdk-client' })
  .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
    const option = params.options.find((each) => each.kind === scenario.permission);
    const outcome = option ? { outcome: 'selected', optionId: option.optionId } : { outcome: 'cancelled' };
    say({ event: 'permission', session: params.sessionId, toolCall: params.toolCall, options: params.options, outcome });
    return { outcome };
  })
  .onRequest(acp.methods.client.fs.readTextFile, ({ params }) => {
    say({ event: 'read', path: params.path });
    const lines = fs.readFileSync(params.path, 'utf8').split('\n');
    const first = (params.line ?? 1) - 1;
    return { content: lines.slice(first, params.limit ? first + params.limit : undefined).join('\n') };
  })
  .onRequest(acp.methods.client.fs.writeTextFile, ({ params }) => {
    say({ event: 'write', path: params.path, content: params.content });
    fs.writeFileSync(params.path, params.content);
    return {};
  })
  .onNotification(acp.methods.client.session.update, ({ params }) => {
    seen.handled += 1;
    say({ event: 'update', session: params.sessionId, update: params.update });
    onUpdate(params.update);
  });

const sessions = [];
const where = { cwd: scenario.cwd, mcpServers: [] };
const { agent: m } = acp.methods;
const named = (reference) => (typeof reference === 'number' ? sessions[reference] : reference);

const steps = {
  initialize: (cx) =>
    cx.request(m.initialize, {
      protocolVersion: acp.PROTOCOL_VERSION,
      clientCapabilities: scenario.capabilities,
      clientInfo: { name: 'ts-sdk-client', version: '0' },
    }),
  new: async (cx) => {
    const result = await cx.request(m.session.new, where);
    sessions.push(result.sessionId);
    return result;
  },
  prompt: async (cx, reference, text, cancelOn) => {
    const sessionId = named(reference);
    onUpdate = (update) => {
      if (update.sessionUpdate !== cancelOn) return;
      onUpdate = () => {};
      void cx.notify(m.session.cancel, { sessionId });
    };
    return cx.request(m.session.prompt, { sessionId, prompt: [{ type: 'text', text }] });
  },
  load: (cx, reference) => cx.request(m.session.load, { sessionId: named(reference), ...where }),
  resume: (cx, reference) => cx.request(m.session.resume, { sessionId: named(reference), ...where }),
  list: (cx) => cx.request(m.session.list, { cwd: scenario.cwd }),
  close: (cx, reference) => cx.request(m.session.close, { sessionId: named(reference) }),
  delete: (cx, reference) => cx.request(m.session.delete, { sessionId: named(reference) }),
  set_mode: (cx, reference, modeId) => cx.request(m.session.setMode, { sessionId: named(reference), modeId }),
  set_option: (cx, reference, configId, value) =>
    cx.request(m.session.setConfigOption, { sessionId: named(reference), configId, value }),
};

// The SDK may resolve a request before it has run the handlers of updates that came first. It drops updates that break
// the schema, so the number of turns of the event loop is bounded.
const drained = async () => {
  for (let turn = 0; turn < 1000 && seen.handled < seen.updates; turn += 1) await new Promise((done) => setImmediate(done));
};

await client.connectWith(acp.ndJsonStream(toAgent.writable, fromAgent), async (cx) => {
  for (const [step, [name, ...rest]] of scenario.steps.entries()) {
    try {
      const result = (await steps[name](cx, ...rest)) ?? {};
      await drained();
      say({ event: 'result', step, name, result });
    } catch (error) {
      await drained();
      say({ event: 'error', step, name, code: error.code, message: error.message, data: error.data ?? null });
    }
  }
});
agent.stdin.end();
agent.on('exit', (code, signal) => say({ event: 'exit', code, signal }));
