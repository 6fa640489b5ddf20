/** `gateway serve` is renewed as a whole while clients ask. */
import { once } from 'node:events'
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { KEY, startGateway } from '../support/gateway.ts'
import { childrenOf } from '../support/processes.ts'
import { until } from '../support/wait.ts'

const ask = (main: string, agent: http.Agent, body: object): Promise<string> =>
  new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
    const req = http.request(`${main}/v1/chat/completions`, { agent, method: 'POST', headers }, res => {
      let text = ''
      res.on('data', chunk => {
        text += chunk
      })
      res.on('error', reject)
      res.on('end', () => resolve(`${res.statusCode} ${text}`))
    })
    req.on('error', reject)
    req.end(JSON.stringify({ model: 'beta-4.7', messages: [{ role: 'user', content: 'Hello!' }], ...body }))
  })

/** Without a pause the clients would take the processor from the process that starts. */
const ASK_EVERY_MS = 20

for (const workers of [1, 2])
  t.test(`workers: ${workers}, a new process takes over while a stream runs and clients ask`, async t => {
    const gateway = await startGateway({ config: { workers } })
    const { child, main } = gateway
    t.teardown(() => gateway.stop())
    const supervisor = child.pid as number
    const [old] = childrenOf(supervisor)
    t.equal(old === undefined, workers === 1, 'one worker needs no second process')
    const agents = [new http.Agent({ keepAlive: true }), new http.Agent({ keepAlive: false })] as const
    const stream = ask(main, agents[0], {
      stream: true,
      messages: [{ role: 'user', content: '[[sim tokens=60 tps=40]]' }],
    })
    let over = false
    const asked: string[] = []
    const asking = [...agents, ...agents].map(async agent => {
      for (; !over; await sleep(ASK_EVERY_MS)) asked.push((await ask(main, agent, {}).catch(String)).slice(0, 80))
    })
    let said = ''
    child.stdout?.on('data', data => (said += data))
    const times = (message: string) => said.split(`"msg":"${message}"`).length - 1
    let serving = old
    for (const round of [1, 2]) {
      child.kill('SIGUSR2')
      await until('two serve', () => childrenOf(supervisor).some(pid => pid !== serving))
      serving = childrenOf(supervisor).find(pid => pid !== serving) as number
      const before = asked.length
      await until('many were asked', () => asked.length > before + 200)
      if (round === 1)
        t.match(await stream, /^200 .*\[DONE\]\n\n$/s, 'a stream that began in the old process ends there')
      await until('the old one stopped', () => times('stopped') === round)
      await until('no process of it is left', () => childrenOf(supervisor).length === 1)
    }
    child.kill('SIGHUP')
    await until('the one that serves now has reloaded', () => times('reloaded') === 1)
    over = true
    await Promise.all(asking)
    t.same(childrenOf(supervisor), [serving])
    t.same(new Set(asked.map(answer => answer.slice(0, 4))), new Set(['200 ']), `of ${asked.length} none is refused`)
    t.equal((await fetch(`${gateway.ops}/readyz`)).status, 200)
    t.equal((await gateway.usage('rich', Math.min(1000, asked.length + 1))).length, Math.min(1000, asked.length + 1))
    t.match(await gateway.admin('GET', '/admin/audit'), { ok: true })
    for (const agent of agents) agent.destroy()
    child.kill('SIGTERM')
    const [code] = await once(child, 'exit')
    t.equal(code, 0, 'the process that was started ends with what serves')
  })
