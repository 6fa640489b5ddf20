/** Processes that a bench starts: those that a workload left behind, because it failed before it could stop them, are ended. */
import t from 'tap'
import { endAll, startPart } from '../../bench/parts/process.ts'

const SERVER = 'console.log(\'{"port":1}\'); setInterval(() => {}, 1000)'

t.test('endAll: two processes that nobody stopped', async t => {
  const start = () => startPart(process.execPath, ['-e', SERVER], {}, line => Number(line['port']))
  const [a, b] = [await start(), await start()]
  await endAll()
  for (const { child } of [a, b]) t.equal(child.signalCode, 'SIGTERM')
  await endAll() // nothing is left to wait for
})
