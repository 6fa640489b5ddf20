/** What goes wrong while a gateway is renewed, or with one of its workers, leaves those alone that serve. */
// The bug behind these rows: a renewal that takes all with it.
import type { Worker } from 'node:cluster'
import { EventEmitter } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t, { type Test } from 'tap'
import { WorkerHandle } from '../../lib/process/worker-handle.ts'
import { parseConfig } from '../../lib/config/config.ts'
import { TestClock } from '../support/clock.ts'
import { BIN, startGateway, type TestGateway } from '../support/gateway.ts'
import { childrenOf } from '../support/processes.ts'
import { until } from '../support/wait.ts'

const ready = async (gateway: TestGateway) => (await fetch(`${gateway.ops}/readyz`)).status

/** What both gateways below do. Resolves with the process that serves. */
async function whatFails(t: Test, workers: number): Promise<{ gateway: TestGateway; serving: number }> {
  const folder = mkdtempSync(path.join(tmpdir(), 'renewal-'))
  const bin = path.join(folder, 'gateway')
  symlinkSync(BIN, bin)
  const gateway = await startGateway({ bin, config: { workers } })
  t.teardown(async () => {
    await gateway.stop()
    rmSync(folder, { recursive: true })
  })
  let said = ''
  gateway.child.stdout?.on('data', data => (said += data))
  const supervisor = gateway.child.pid as number
  const before = childrenOf(supervisor)

  await t.test('what is to be started is not there', async t => {
    rmSync(bin)
    gateway.child.kill('SIGUSR2')
    await until('it is said', () => said.includes('the old one serves on'))
    t.same(childrenOf(supervisor), before)
    t.equal(await ready(gateway), 200)
  })

  await t.test('a reload that is asked for meanwhile is made when the renewal has failed', async t => {
    const end = path.join(folder, 'end')
    writeFileSync(bin, `#!/bin/sh\nwhile [ ! -e ${end} ]; do sleep 0.01; done\nexit 1\n`)
    chmodSync(bin, 0o755)
    gateway.child.kill('SIGUSR2')
    await until('the new one is there', () => childrenOf(supervisor).length === before.length + 1)
    t.notOk(said.includes('"reloaded"'))
    gateway.child.kill('SIGHUP')
    writeFileSync(end, '')
    await until('it is made', () => said.includes('"reloaded"'))
    t.same(childrenOf(supervisor), before)
  })

  return { gateway, serving: before[0] ?? supervisor }
}

t.test('a gateway of one process', async t => {
  const { gateway, serving } = await whatFails(t, 1)
  t.equal(serving, gateway.child.pid)
})

/** Serves from the sockets of its supervisor as builds did that gave no copies back. */
const earlierBuild = (addresses: Record<string, string>) => `#!${process.execPath}
const names = new Set(${JSON.stringify(Object.keys(addresses))})
process.on('message', ({ type, name }, handle) => {
  if (type === 'retire') process.exit()
  process.getBuiltinModule('node:net').createServer(() => {}).listen(handle)
  if (names.delete(name) && names.size === 0) process.send({ type: 'ready' })
})
for (const [name, url] of ${JSON.stringify(Object.entries(addresses))}) {
  const { hostname: host, port } = new URL(url)
  process.send({ type: 'socket', name, host, port: Number(port) })
}
`

t.test('after a renewal to an earlier build the next one fails and says so, instead of waiting for ever', async t => {
  const folder = t.testdir()
  const bin = path.join(folder, 'gateway')
  symlinkSync(BIN, bin)
  const gateway = await startGateway({ bin, config: { workers: 1 } })
  t.teardown(() => gateway.stop().catch(() => {}))
  const { main, direct, ops, child } = gateway
  let said = ''
  child.stdout?.on('data', data => (said += data))
  rmSync(bin)
  writeFileSync(bin, earlierBuild({ main, direct, ops }))
  chmodSync(bin, 0o755)
  child.kill('SIGUSR2')
  await until('the first process has handed over', () => said.includes('"msg":"stopped"'))
  const serving = childrenOf(child.pid as number)
  rmSync(bin)
  symlinkSync(BIN, bin)
  child.kill('SIGUSR2')
  await until('it is said', () => said.includes('the old one serves on'))
  t.same(childrenOf(child.pid as number), serving)
  child.kill('SIGTERM')
})

t.test('a gateway of two workers', async t => {
  const { gateway, serving } = await whatFails(t, 2)
  await t.test('a worker that hangs', async t => {
    await until('the workers of before the reload have ended', () => childrenOf(serving).length === 2)
    const [hung] = childrenOf(serving) as [number]
    process.kill(hung, 'SIGSTOP')
    t.equal(await ready(gateway), 200, 'the other one serves')
    process.kill(hung, 'SIGCONT')
  })
})

const fake = (pid: number | undefined) => {
  const signals: string[] = []
  const kill = (signal: string) => signals.push(signal)
  const worker = Object.assign(new EventEmitter(), { process: { pid, kill }, isConnected: () => false })
  return { worker, signals }
}
const CONFIG = parseConfig('{}', 'config', {})
const unasked = async () => null

t.test('a worker that hangs while it drains is ended when it has had its time', async t => {
  const clock = new TestClock()
  const { worker, signals } = fake(1)
  const handle = new WorkerHandle(worker as unknown as Worker, CONFIG, {}, unasked, clock)
  handle.drain(60_000)
  clock.advance(60_000)
  t.same(signals, [], 'it has ended what was open, and closes its books')
  clock.advance(60_000)
  t.same(signals, ['SIGKILL'])
})

t.test('one that has ended is not', async t => {
  const clock = new TestClock()
  const { worker, signals } = fake(1)
  const handle = new WorkerHandle(worker as unknown as Worker, CONFIG, {}, unasked, clock)
  handle.drain(60_000)
  worker.emit('exit', 0, null)
  t.same(await handle.exited, { code: 0, signal: null })
  clock.advance(120_000)
  t.same(signals, [])
})

t.test('one that could not be started has ended: nobody waits for it', async t => {
  const { worker } = fake(undefined)
  const handle = new WorkerHandle(worker as unknown as Worker, CONFIG, {}, unasked, new TestClock())
  worker.emit('error', new Error('spawn ENOENT'))
  await t.rejects(handle.ready, { message: 'spawn ENOENT' })
  t.same(await handle.exited, { code: null, signal: null })
})
