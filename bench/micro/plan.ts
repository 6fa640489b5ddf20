/**
 * lib/exchange/plan.ts over the real stages of a relayed request, from its target to its hold, and `finish`. Reading
 * from the connection and asking the upstream are left out; what is read is scanned in the place of the stage that
 * reads it.
 */
import { deepEqual } from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import http from 'node:http'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import type * as ClockModule from '../../lib/base/clock.ts'
import type * as AcceptModule from '../../lib/exchange/accept.ts'
import type * as FinishModule from '../../lib/exchange/record/ending.ts'
import type * as PathsModule from '../../lib/exchange/paths.ts'
import type * as PlanModule from '../../lib/exchange/plan.ts'
import type * as PlansModule from '../../lib/exchange/plans.ts'
import type * as DispatchModule from '../../lib/exchange/stages/candidates.ts'
import type * as ReadBodyModule from '../../lib/exchange/stages/body.ts'
import type * as VerdictModule from '../../lib/exchange/record/ending.ts'
import type * as ApplyModule from '../../lib/operations/catalogue/apply.ts'
import type * as GatewayModule from '../../lib/process/gateway.ts'
import type * as TableModule from '../../lib/protocols/table.ts'
import type * as OpenModule from '../../lib/store/store.ts'
import type * as CatalogModule from '../../lib/catalog-file/catalog.ts'
import type * as ConfigModule from '../../lib/config/config.ts'
import type * as LogModule from '../../lib/base/log.ts'
import type * as MetricsModule from '../../lib/terms/metrics.ts'
import type { Bench, Lib } from './bench.ts'
import { conversation } from './workloads/conversation.ts'

const SECRET = 'sk-bench-0123456789abcdef'
const PATH = '/v1/messages'
const STAGES = 8

export const bench: Bench = async (lib, seed) => {
  const { gateway, close } = await open(lib)
  const { services } = gateway
  const { begin: beginExchange } = await lib<typeof AcceptModule>('exchange/accept.ts')
  const { finish } = await lib<typeof FinishModule>('exchange/record/ending.ts')
  const { findTarget } = await lib<typeof PathsModule>('exchange/paths.ts')
  const { Plan, runPlan: run } = await lib<typeof PlanModule>('exchange/plan.ts')
  const { NEXT } = await lib<typeof VerdictModule>('exchange/record/ending.ts')
  const { bytes, said } = conversation(seed, 200)
  const stages = await stagesOf(lib, bytes)
  const plan = new Plan(stages)
  const { req, res } = request()
  const begin = () => {
    const x = beginExchange(services, 'main', req, res)
    x.aimAt(findTarget(x))
    run(plan, x, services)
    return x
  }
  /** The first request brings the key and the lease into memory. */
  const first = begin()
  while (first.hold === null && first.refusal === null) await new Promise(resolve => setTimeout(resolve, 5))
  finish(first, services)
  const nothing = new Plan(Array.from({ length: STAGES }, () => () => NEXT))
  const idle = beginExchange(services, 'main', req, res)
  return [
    {
      name: `${STAGES} stages that do nothing`,
      check: () => deepEqual(nothing.stages.length, STAGES),
      run: () => {
        run(nothing, idle, services)
        return idle.attempts + 1
      },
    },
    {
      name: 'a small request up to its hold',
      check() {
        const x = begin()
        const { facts, claim, tariff, hold } = x
        deepEqual([x.refusal, facts?.maxOutput, x.model], [null, said.maxOutput, said.model])
        deepEqual([claim, tariff, hold].includes(null), false)
        const open = services.openCount
        finish(x, services)
        deepEqual([services.openCount, gateway.ledger.holdsOpen], [open - 1, 0])
      },
      run() {
        const x = begin()
        const held = x.hold?.amount ?? Number.NaN
        finish(x, services)
        return held
      },
      close: async () => {
        finish(idle, services)
        await close()
      },
    },
  ]
}

async function stagesOf(lib: Lib, body: Buffer): Promise<PlanModule.Plan['stages']> {
  const { PLANS } = await lib<typeof PlansModule>('exchange/plans.ts')
  const { readBody } = await lib<typeof ReadBodyModule>('exchange/stages/body.ts')
  const { dispatch } = await lib<typeof DispatchModule>('exchange/stages/candidates.ts')
  const { NEXT } = await lib<typeof VerdictModule>('exchange/record/ending.ts')
  const { protocolRow } = await lib<typeof TableModule>('protocols/table.ts')
  const scanBody: PlanModule.Plan['stages'][number] = x => {
    const scan = protocolRow('messages').body.scan('application/json')
    scan.feed(body)
    x.body.push(body)
    x.bodyBytes = body.length
    x.facts = scan.end()
    return NEXT
  }
  return PLANS.relay.stages.filter(stage => stage !== dispatch).map(stage => (stage === readBody ? scanBody : stage))
}

function request() {
  const req = new http.IncomingMessage(new net.Socket())
  req.method = 'POST'
  req.url = PATH
  req.headers = { 'x-api-key': SECRET, 'content-type': 'application/json', host: '127.0.0.1' }
  return { req, res: new http.ServerResponse(req) }
}

/** Starts a gateway without listeners. */
async function open(lib: Lib) {
  const { Gateway } = await lib<typeof GatewayModule>('process/gateway.ts')
  const { openStore } = await lib<typeof OpenModule>('store/store.ts')
  const { applyCatalog } = await lib<typeof ApplyModule>('operations/catalogue/apply.ts')
  const { systemClock } = await lib<typeof ClockModule>('base/clock.ts')
  const { parseCatalog } = await lib<typeof CatalogModule>('catalog-file/catalog.ts')
  const { parseConfig } = await lib<typeof ConfigModule>('config/config.ts')
  const { createLogger } = await lib<typeof LogModule>('base/log.ts')
  const { Metrics } = await lib<typeof MetricsModule>('terms/metrics.ts')
  const folder = mkdtempSync(path.join(os.tmpdir(), 'bench-plan-'))
  const store = openStore('sqlite::memory:', { secret: 'a bench secret' })
  await store.migrate()
  await applyCatalog(store, parseCatalog(JSON.stringify(CATALOG), 'catalog', {}), systemClock)
  const config = parseConfig(JSON.stringify({ journal: folder }), 'config', {})
  const gateway = await Gateway.start(config, createLogger('info', { write() {} }), new Metrics(), store)
  return {
    gateway,
    close: async () => {
      await gateway.drain(0)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const MODELS = [conversation(0, 200).said.model]
const CATALOG = {
  groups: [{ name: 'default', rate: { requests: 0, minutes: 1 } }],
  models: MODELS.map(name => ({ name, price: { input: 2, output: 8 } })),
  channels: ['a', 'b', 'c'].map(name => ({
    name,
    base_url: `http://127.0.0.1:9/${name}`,
    protocols: ['messages'],
    groups: ['default'],
    models: MODELS,
    key: `up-${name}`,
  })),
  accounts: [{ name: 'one', groups: ['default'], balance: 1_000_000 }],
  keys: [{ account: 'one', name: 'k', secret: SECRET, group: 'default', models: MODELS }],
}
