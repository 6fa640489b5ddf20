/**
 * `npm run house:journey [-- --list]` counts what one event of a stream and one small JSON request cross in lib: files, named functions,
 * and calls, by V8's precise coverage of a gateway in this process whose upstream and client stand in this process, too. Each figure is
 * taken in the steady state, when keys, prices, leases and connections are known. `--list` also names what is crossed. V8 counts the
 * fields of a class that begin with a value as a function beside its constructor; how many of the functions are such is said.
 */
import { once } from 'node:events'
import http from 'node:http'
import { Session } from 'node:inspector/promises'
import { fileURLToPath } from 'node:url'
import { HEADERS, KEY, MODEL, open } from '../exchange/support/gateway.ts'
import { until } from '../support/wait.ts'
import { ROOT } from './house.ts'

const isList = process.argv.includes('--list')
const WARM_UP = 20

interface Crossed {
  file: string
  name: string
  calls: number
}

const session = new Session()
session.connect()
await session.post('Profiler.enable')
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })

/** Named functions of lib that ran since the last time. */
async function crossed(): Promise<Crossed[]> {
  const { result } = await session.post('Profiler.takePreciseCoverage')
  return result.flatMap(({ url, functions }) => {
    if (!url.startsWith(`file://${ROOT}/lib/`)) return []
    const file = fileURLToPath(url).slice(ROOT.length + 1)
    return functions
      .filter(({ functionName }) => functionName !== '')
      .map(({ functionName, ranges }) => ({ file, name: functionName, calls: ranges[0]?.count ?? 0 }))
      .filter(({ calls }) => calls > 0)
  })
}

function say(journey: string, functions: Crossed[]): void {
  const files = new Set(functions.map(({ file }) => file))
  const calls = functions.reduce((sum, one) => sum + one.calls, 0)
  const ofFields = functions.filter(({ name }) => name === '<instance_members_initializer>').length
  const begun = ofFields === 0 ? '' : ` (of them ${ofFields} the fields of a class)`
  console.info(`${journey}: ${files.size} files, ${functions.length} named functions${begun}, ${calls} calls`)
  if (!isList) return
  for (const file of files) {
    const names = functions
      .filter(one => one.file === file)
      .map(({ name, calls }) => (calls > 1 ? `${name} ×${calls}` : name))
    console.info(`  ${file}: ${names.join(', ')}`)
  }
}

const teardowns: (() => Promise<void>)[] = []
const scene = await open({ teardown: fn => teardowns.push(fn) }, { channels: { chat: { protocols: ['chat'] } } })

const event = (text: string): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', model: MODEL, choices: [{ index: 0, delta: { content: text } }] })}\n\n`

/** A stream of chat, asked for at a path of another protocol or the same, of which one event is counted. */
async function oneEvent(journey: string, path: string, body: object): Promise<void> {
  const upstream = scene.at('chat')
  const before = upstream.calls.length
  const client = scene.ask({ path, headers: HEADERS, body })
  await until('the upstream is asked', () => upstream.calls.length > before)
  const call = upstream.calls[before]
  if (call === undefined) throw new Error('no call')
  call.stream()
  for (let i = 0; i < WARM_UP; i++) {
    call.chunk(event(`word ${i} `))
    await client.sees(`word ${i} `)
  }
  await crossed()
  call.chunk(event('counted '))
  await client.sees('counted ')
  say(journey, await crossed())
  call.chunk(
    `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 30 } })}\n\ndata: [DONE]\n\n`,
  )
  call.end()
  await client.end()
}

/** A whole answer on connections that are open already. */
async function oneRequest(): Promise<void> {
  const body = JSON.stringify({ model: MODEL, messages: [{ role: 'user', content: 'Hello' }] })
  const message = { role: 'assistant', content: 'Hi' }
  const usage = { prompt_tokens: 5, completion_tokens: 2 }
  const answer = { id: 'c', model: MODEL, choices: [{ index: 0, message, finish_reason: 'stop' }], usage }
  const upstream = scene.at('chat')
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', 'content-length': body.length }
  const exchange = async (): Promise<void> => {
    const before = upstream.calls.length
    const request = http.request(`${scene.urls.main}/v1/chat/completions`, { method: 'POST', agent, headers })
    request.end(body)
    await until('the upstream is asked', () => upstream.calls.length > before)
    upstream.calls[before]?.whole(200, answer)
    const [response] = (await once(request, 'response')) as [http.IncomingMessage]
    for await (const _ of response);
    await until('nothing is open', () => scene.services.openCount === 0)
  }
  for (let i = 0; i < WARM_UP; i++) await exchange()
  await scene.services.ledger.flush()
  await crossed()
  await exchange()
  say('one small JSON request', await crossed())
  await scene.services.ledger.flush()
  say('its settlement, moved into the store', await crossed())
  agent.destroy()
}

await oneEvent('one event, same protocol', '/v1/chat/completions', {
  model: MODEL,
  stream: true,
  messages: [{ role: 'user', content: 'Hello' }],
})
await oneEvent('one event, translated', '/v1/messages', {
  model: MODEL,
  stream: true,
  max_tokens: 100,
  messages: [{ role: 'user', content: 'Hello' }],
})
await oneRequest()
for (const teardown of teardowns) await teardown()
session.disconnect()
