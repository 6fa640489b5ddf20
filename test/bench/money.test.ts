/** The exchanges by which two revisions are compared: a seed makes the same ones again, and another seed others. */
import { spawnSync } from 'node:child_process'
import path from 'node:path'
import t from 'tap'

const ROOT = path.join(import.meta.dirname, '../..')
const EXCHANGES = '40'

function digestOf(seed: number): { digest: string; chargedMicro: number } {
  const args = [path.join(ROOT, 'bench/parts/money-rows.ts'), ROOT, String(seed), EXCHANGES]
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  return JSON.parse(stdout.trim().split('\n').at(-1) as string)
}

t.test('the books of one seed are the same in every run, and those of another one differ', async t => {
  const [first, again, other] = [digestOf(1), digestOf(1), digestOf(2)]
  t.same(again, first)
  t.not(other.digest, first.digest)
  t.ok(first.chargedMicro > 0)
})
