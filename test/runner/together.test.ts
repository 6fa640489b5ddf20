/** What ends a process of tests. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const TOGETHER = join(import.meta.dirname, 'together.ts')

t.test(
  'a server that a test leaves open (a leaked handle) ends the process with its name, and does not hang',
  async t => {
    const file = join(t.testdir(), 'leak.test.ts')
    writeFileSync(
      file,
      "import { createServer } from 'node:http'\nimport t from 'tap'\ncreateServer().listen(0, '127.0.0.1', () => {})\nt.pass('done')\n",
    )
    const env = { ...process.env, AFTERWARDS_MS: '200' }
    const { status, stderr, stdout } = spawnSync(process.execPath, [TOGETHER, file], {
      env,
      encoding: 'utf8',
      timeout: 60_000,
    })
    t.equal(status, 1)
    t.match(stderr, /left open after the last test: .*TCPServerWrap/)
    t.match(stdout, /ok 1 - done/)
  },
)
