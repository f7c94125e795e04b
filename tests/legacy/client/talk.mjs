// `node talk.mjs URL STEPS` talks to a server with the official client of the older revisions, which knows no other era.
//
// STEPS is JSON, a list of steps; each is the name of one of the functions below and its arguments. Printed is JSON: what
// came of each step. A step that fails stands there as {"error": code or message}.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
    CallToolResultSchema,
    CreateMessageRequestSchema,
    CreateTaskResultSchema,
    ElicitRequestSchema,
    ListRootsRequestSchema
} from '@modelcontextprotocol/sdk/types.js';

const ANSWERS = { name: 'Ann', ok: true, color: 'blue', confirm: true };
const [url, steps] = [process.argv[2], JSON.parse(process.argv[3])];

const client = new Client(
    { name: 'coatcheck-tests', version: '1' },
    { capabilities: { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} } }
);
client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    const names = Object.keys(params.requestedSchema?.properties ?? {});
    return { action: 'accept', content: Object.fromEntries(names.map(name => [name, ANSWERS[name]])) };
});
client.setRequestHandler(CreateMessageRequestSchema, () => ({
    role: 'assistant',
    content: { type: 'text', text: 'Paris' },
    model: 'm'
}));
client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///folder' }] }));

const tasks = client.experimental.tasks;
const STEPS = {
    opened: () => ({ server: client.getServerVersion(), capabilities: client.getServerCapabilities() }),
    ping: () => client.ping(),
    setLevel: level => client.setLoggingLevel(level),
    list: cursor => client.listTools(cursor ? { cursor } : undefined),
    call: (name, args) => client.callTool({ name, arguments: args }),
    async heard(name, args) {
        const progress = [];
        const result = await client.callTool({ name, arguments: args }, undefined, { onprogress: one => progress.push(one) });
        return { progress, result };
    },
    async task(name, args) {
        const messages = [];
        for await (const message of tasks.callToolStream({ name, arguments: args }, CallToolResultSchema, { task: { ttl: 60000 } }))
            messages.push(message.type === 'error' ? { type: 'error', code: message.error.code } : message);
        return messages;
    },
    async cancelled(name, args) {
        const options = { task: { ttl: 60000 } };
        const { task } = await client.request({ method: 'tools/call', params: { name, arguments: args } }, CreateTaskResultSchema, options);
        const cancelled = await tasks.cancelTask(task.taskId);
        const again = await tasks.cancelTask(task.taskId).catch(error => error.code);
        return { created: task, cancelled, again, seen: await tasks.getTask(task.taskId) };
    },
    tasks: cursor => tasks.listTasks(cursor)
};

const transport = new StreamableHTTPClientTransport(new URL(url));
await client.connect(transport);
const came = [];
for (const [step, ...args] of steps)
    came.push(await Promise.resolve(STEPS[step](...args)).catch(error => ({ error: error.code ?? String(error) })));
console.log(JSON.stringify({ version: transport.protocolVersion, session: transport.sessionId ?? null, came }));
await client.close();
