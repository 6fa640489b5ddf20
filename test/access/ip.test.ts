import t from 'tap'
import { AddressList, clientAddress } from '../../lib/access/ip.ts'

t.test('lists of addresses and networks', async t => {
  const rows: [list: string[], address: string, want: boolean][] = [
    [['1.2.3.4'], '1.2.3.4', true],
    [['1.2.3.4'], '1.2.3.5', false],
    [['10.0.0.0/8'], '10.255.0.1', true],
    [['10.0.0.0/8'], '11.0.0.1', false],
    [['0.0.0.0/0'], '9.9.9.9', true],
    [['1.2.3.4', '2001:db8::/32'], '2001:db8:5::1', true],
    [['2001:db8::/32'], '2001:db9::1', false],
    [['2001:db8::1'], '2001:0db8:0:0::1', true],
    [[' 1.2.3.4 '], '1.2.3.4', true],
    [['::ffff:1.2.3.4'], '1.2.3.4', true],
    [['::FFFF:102:304'], '1.2.3.4', true],
    [['1.2.3.4'], '::ffff:1.2.3.4', true],
    [['1.2.3.4'], '::ffff:102:304', true],
    [['::ffff:10.0.0.0/104'], '10.1.2.3', true],
    [['::ffff:10.0.0.0/104'], '11.1.2.3', false],
    [[], '1.2.3.4', false],
    [['1.2.3.4'], '', false],
    [['1.2.3.4'], 'localhost', false],
    [['nonsense'], '1.2.3.4', false],
    [['1.2.3.4/33'], '1.2.3.4', false],
    [['1.2.3.4/'], '1.2.3.4', false],
    [['1.2.3.4/8/8'], '1.2.3.4', false],
    [['1.2.3.4/-1'], '1.2.3.4', false],
    [['2001:db8::/129'], '2001:db8::', false],
    [['nonsense', '1.2.3.4'], '1.2.3.4', true],
  ]
  for (const [list, address, want] of rows) {
    t.equal(new AddressList(list).has(address), want, `${JSON.stringify(list)} and ${address}`)
  }
})

t.test('who is calling', async t => {
  const proxies = ['127.0.0.1', '10.0.0.0/8', 'fd00::/8']
  const rows: [remote: string | undefined, forwarded: string | undefined, want: string, why: string][] = [
    ['9.9.9.9', undefined, '9.9.9.9', 'nobody in between'],
    ['9.9.9.9', '1.2.3.4', '9.9.9.9', 'a stranger is not believed'],
    ['127.0.0.1', undefined, '127.0.0.1', 'a proxy that says nothing'],
    ['127.0.0.1', '1.2.3.4', '1.2.3.4', 'one proxy'],
    ['127.0.0.1', '1.2.3.4, 10.1.1.1', '1.2.3.4', 'two proxies'],
    ['127.0.0.1', '5.5.5.5, 1.2.3.4, 10.1.1.1', '1.2.3.4', 'what stands left of the caller is invented'],
    ['127.0.0.1', '10.2.2.2,10.1.1.1', '10.2.2.2', 'proxies all the way: the first'],
    ['::ffff:127.0.0.1', '1.2.3.4', '1.2.3.4', 'a mapped proxy'],
    ['127.0.0.1', '::ffff:1.2.3.4', '1.2.3.4', 'a mapped caller'],
    ['127.0.0.1', '::ffff:102:304', '1.2.3.4', 'mapped, in hex'],
    ['fd00::1', '2001:db8::5', '2001:db8::5', 'IPv6'],
    ['127.0.0.1', '1.2.3.4:567', '1.2.3.4', 'with a port'],
    ['127.0.0.1', '[2001:db8::5]:567', '2001:db8::5', 'in brackets with a port'],
    ['127.0.0.1', '[2001:db8::5]', '2001:db8::5', 'in brackets'],
    ['fe80::1%eth0', undefined, 'fe80::1', 'without its zone'],
    ['127.0.0.1', 'unknown', '', 'a hop that nobody can read is nobody'],
    ['127.0.0.1', '1.2.3.4, unknown', '', 'also when something stands left of it'],
    ['127.0.0.1', '1.2.3.4, , 10.1.1.1', '', 'an empty hop'],
    ['127.0.0.1', '', '', 'an empty header'],
    ['127.0.0.1', '1.2.3.4:99999999', '', 'no port'],
    [undefined, '1.2.3.4', '', 'a socket that is gone'],
  ]
  for (const [remote, forwarded, want, why] of rows) {
    t.equal(clientAddress(remote, forwarded, new AddressList(proxies)), want, why)
  }
  t.equal(clientAddress('127.0.0.1', '1.2.3.4', null), '127.0.0.1', 'no trusted proxies')
})

t.test('a long list of hops is walked, not matched', async t => {
  const hops = Array.from({ length: 2000 }, () => '10.1.1.1').join(',')
  t.equal(clientAddress('10.0.0.1', `1.2.3.4,${hops}`, new AddressList(['10.0.0.0/8'])), '1.2.3.4')
})
