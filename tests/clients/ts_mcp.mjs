// An ACP client on the official TypeScript SDK that serves an MCP server over its connection with the SDK's own provider.
// Runs `command` in `cwd` (a JSON object, the first argument), prompts twice, and prints one JSON line per event.
import { spawn } from 'node:child_process';
import { Readable, Writable } from 'node:stream';
import * as acp from '@agentclientprotocol/sdk/unstable';

const { command: [command, ...args], cwd } = JSON.parse(process.argv[2]);
const say = (event) => process.stdout.write(`${JSON.stringify(event)}\n`);
const agent = spawn(command, args, { cwd, stdio: ['pipe', 'pipe', 'inherit'] });
const cached = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };
let changed;
let subscribe;
const subscribed = new Promise((done) => (subscribe = done));
const tools = ['shout'];
let listed = () => {};

const answers = {
  'server/discover': () => ({ ...cached, supportedVersions: [acp.MCP_PROTOCOL_VERSION], capabilities: { tools: { listChanged: true } } }),
  'tools/list': () => (listed(), { ...cached, tools: tools.map((name) => ({ name, inputSchema: { type: 'object' } })) }),
  'tools/call': async (cx) => {
    await cx.notify('notifications/progress', { progressToken: cx.params._meta.progressToken, progress: 1, message: 'on it' });
    return { resultType: 'complete', content: [{ type: 'text', text: `${cx.params.name}: ${cx.params.arguments.text.toUpperCase()}` }] };
  },
  // open until the agent ends it
  'subscriptions/listen': async (cx) => {
    const meta = { 'io.modelcontextprotocol/subscriptionId': cx.requestId };
    await cx.notify('notifications/subscriptions/acknowledged', { notifications: cx.params.notifications, _meta: meta });
    changed = () => cx.notify('notifications/tools/list_changed', { _meta: meta });
    subscribe();
    await new Promise((done) => cx.signal.addEventListener('abort', done, { once: true }));
    throw cx.signal.reason;
  },
};

const mcp = new acp.McpOverAcpProvider();
const app = acp
  .client({ name: 'ts-sdk-mcp' })
  .onRequest(acp.methods.client.mcp.message, mcp.handleRequest)
  .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
    const option = params.options.find((each) => each.kind === 'allow_once');
    return { outcome: { outcome: 'selected', optionId: option.optionId } };
  })
  .onNotification(acp.methods.client.session.update, ({ params }) => say({ event: 'update', update: params.update }));

const m = acp.methods.agent;
await app.connectWith(acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout)), async (cx) => {
  const handler = async (operation) => {
    say({ event: 'mcp', method: operation.method, client: operation.clientInfo, version: operation.protocolVersion });
    const answer = answers[operation.method];
    if (!answer) throw new acp.McpProtocolError(-32601, `no ${operation.method}`);
    return { result: await answer(operation) };
  };
  const server = mcp.registerServer(cx, { name: 'editor', handler });
  const clientInfo = { name: 'editor', version: '1' };
  const initialized = await cx.request(m.initialize, { protocolVersion: acp.PROTOCOL_VERSION, clientInfo, clientCapabilities: {} });
  say({ event: 'capability', acp: initialized.agentCapabilities.mcpCapabilities.acp });
  const { sessionId } = await cx.request(m.session.new, { cwd, mcpServers: [server.declaration] });
  const prompt = (text) => cx.request(m.session.prompt, { sessionId, prompt: [{ type: 'text', text }] });
  await prompt('shout');
  tools.push('whisper');
  const again = new Promise((done) => (listed = done));
  await subscribed;
  await changed();
  await again;
  await prompt('whisper');
  await server.dispose();
  await prompt('gone');
  say({ event: 'done' });
});
agent.stdin.end();
