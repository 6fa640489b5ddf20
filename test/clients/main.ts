/**
 * `npm run test:clients [-- --only TEXT --verbose --limit SECONDS --at-once N]`: runs the published coding tools and libraries, unmodified and
 * headless, against a gateway whose upstreams speak one protocol each: every tool, by every protocol, a prompt, a round of tools, and errors.
 * They are installed from npm and PyPI into ~/.cache/gateway/clients, where they stay; nothing but that leaves the machine.
 * --only: runs whose name (TOOL-PROTOCOL-CASE, openrouter-costs) has the text in it; several are parted by commas. --verbose: what each tool
 * shows. --limit: the time of one run (300). --at-once: runs at the same time (8). Writes the rows of tools that did all cases at an upstream
 * into docs/clients.md. Exits 1 when a run fails or a tool sends no request. A tool that cannot be installed on this machine is named, and left out.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import type { Protocol } from '../../lib/protocols/names.ts'
import { startGateway, testCatalog } from '../support/gateway.ts'
import { scriptOptions } from '../support/script.ts'
import { asItShould, type Case, casesOf, SEARCH_PRICE } from './cases.ts'
import { install } from './install.ts'
import { type Line, rowsOf, withRows } from './matrix.ts'
import { OPENROUTER, problemsOfOpenRouter } from './openrouter.ts'
import { startRecorder } from './recorder.ts'
import { runTool } from './session.ts'
import type { Tool } from './tool.ts'
import { TOOLS } from './tools/table.ts'

const values = scriptOptions(import.meta.filename, {
  only: { type: 'string', default: '' },
  verbose: { type: 'boolean', default: false },
  limit: { type: 'string', default: '300' },
  // most of a run that fails is waiting
  'at-once': { type: 'string', default: '8' },
})
const limitMs = Number(values.limit) * 1000
const UPSTREAMS: readonly Protocol[] = ['messages', 'chat', 'responses', 'generate']
const SETTLE_MS = 1_000
const PAGE = new URL('../../docs/clients.md', import.meta.url)
const SHOWN = 160
const PRICE = {
  input: 3,
  output: 15,
  cache_read: 0.3,
  cache_write_5m: 3.75,
  cache_write_1h: 6,
  web_search: SEARCH_PRICE,
}

interface Run {
  name: string
  tool: Tool
  upstream: Protocol
  test: Case
}

const words = values.only.split(',')
const runs: Run[] = TOOLS.flatMap(tool =>
  UPSTREAMS.flatMap(upstream =>
    casesOf(tool).map(test => {
      // a model that searches beside functions
      const third = test.name === 'search' && upstream === 'generate' ? '-gemini-3' : ''
      return { name: `${tool.name}-${upstream}-${test.name}${third}`, tool, upstream, test }
    }),
  ),
).filter(({ name }) => words.some(word => name.includes(word)))
/** What a key has and what an answer cost, as OpenRouter's SDK reads it. */
const COSTS = 'openrouter-costs'
const readsCosts = words.some(word => COSTS.includes(word))
if (runs.length === 0 && !readsCosts) throw new Error(`no run is called ${values.only}`)

const commands = new Map<Tool, string>()
for (const tool of new Set(runs.map(run => run.tool))) {
  console.log(`${tool.package} ${tool.version} is looked for`)
  const installed = await install(tool)
  if ('command' in installed) commands.set(tool, installed.command)
  else console.log(`${tool.name} CANNOT BE RUN on this machine, and is left out: ${installed.missing}`)
}
const able = runs.filter(({ tool }) => commands.has(tool))

const models = [...able, { name: COSTS, upstream: 'chat' as const }]

const recorder = await startRecorder()
// a model and a channel for each run: an upstream that fails in one must not be resting in another
const gateway = await startGateway({
  catalog(upstream) {
    recorder.target = upstream
    return {
      ...testCatalog(upstream),
      models: models.map(({ name }) => ({ name, price: PRICE })),
      channels: models.map(({ name, upstream: protocol }) => ({
        name,
        base_url: recorder.url,
        protocols: [protocol],
        key: 'up',
        groups: ['default'],
        models: [name],
      })),
    }
  },
})

const lines: Line[] = []
const waiting = [...able]
await Promise.all(Array.from({ length: Number(values['at-once']) }, work))
const costs = readsCosts ? await problemsOfOpenRouter(gateway.main, COSTS) : []
await gateway.stop()
recorder.close()
report()

async function work(): Promise<void> {
  for (let run = waiting.shift(); run !== undefined; run = waiting.shift()) {
    const { name, tool, upstream, test } = run
    const front = await startRecorder(gateway.main)
    const more = test.name === 'search' ? tool.search?.env : undefined
    const prompt = (tool.wording ?? String)(test.prompt(tool, name))
    const order = { gateway: front.url, key: test.key, model: name, prompt, asked: test.name }
    const ran = await runTool(tool, commands.get(tool) as string, order, limitMs, more)
    front.close()
    // the rows of requests that have just ended
    await new Promise(resolve => setTimeout(resolve, SETTLE_MS))
    const { data: rows } = await gateway.admin('GET', `/admin/usage?limit=1000&model=${name}`)
    const served = gateway.simulator.stats.served.filter(({ model }) => model === name)
    const asked = recorder.of(name)
    const outcome = { tool, upstream, name, ran, sent: front.all, asked, served, rows }
    const problems = [...asItShould(outcome), ...test.problems(outcome)]
    ran.clear()
    const shown = (ran.error || ran.text).replaceAll(/\s+/g, ' ').slice(0, SHOWN)
    lines.push({ tool, upstream, test, requests: asked.length, problems, isAnswered: ran.error === '' })
    console.log(
      `${lines.length}/${able.length} ${name}: ${problems.length === 0 ? 'ok' : 'FAILED'}, ${asked.length} requests, ${ran.seconds} s`,
    )
    for (const problem of problems) console.log(`  ${problem.slice(0, 1000)}`)
    if (values.verbose) console.log(`  ${shown}`)
  }
}

function report(): void {
  const date = new Date().toISOString().slice(0, 10)
  console.log(`\n${date}, Node ${process.version}\n`)
  const rows = rowsOf(lines, date)
  for (const row of rows) console.log(row)
  writeFileSync(PAGE, withRows(readFileSync(PAGE, 'utf8'), rows))
  if (readsCosts) console.log(`${OPENROUTER} reads credits, key and generation: ${costs.join('; ') || 'ok'}`)
  const failed = lines.filter(({ problems }) => problems.length > 0)
  console.log(`${lines.length - failed.length} passed, ${failed.length} failed`)
  process.exit(failed.length === 0 && costs.length === 0 && (commands.size > 0 || readsCosts) ? 0 : 1)
}
