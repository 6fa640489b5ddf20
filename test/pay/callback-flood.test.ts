/** One client that sent the bodies of a few callbacks slowly kept every provider's callbacks out. */
// The bug behind these rows: callbacks kept out by one.
import { connect, type Socket } from 'node:net'
import t from 'tap'
import { AlipayDouble } from './doubles/alipay.ts'
import { openShop } from './shop.ts'
import { until } from '../support/wait.ts'

/** More than are read at once. */
const SLOW = 300

t.test('a callback comes through while hundreds of others are sent slowly', async t => {
  const alipay = await AlipayDouble.open(t)
  const shop = await openShop(t, { alipay: alipay.section })
  alipay.ledger.now = () => shop.clock.now()
  const { id } = await shop.begin()
  alipay.ledger.scan(id)
  alipay.ledger.pay(id)
  const { port } = new URL(shop.url)
  const head = 'POST /pay/alipay HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n'
  let dropped = 0
  const sockets: Socket[] = []
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
  })
  for (let i = 0; i < SLOW; i++) {
    const socket = connect(Number(port), '127.0.0.1', () => socket.write(`${head}a`))
    socket.on('error', () => {}).on('close', () => dropped++)
    sockets.push(socket)
  }
  await until('more than enough have come', () => dropped > 0)
  t.same(await alipay.notify(id), ['200 success'])
  t.equal(await shop.balance(), 10_000)
  t.ok(dropped < SLOW, 'those that came last are still read')
})
