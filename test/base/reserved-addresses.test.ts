import t from 'tap'
import { isReserved, namesReserved } from '../../lib/base/reserved-addresses.ts'

const addresses: [address: string, reserved: boolean][] = [
  ['169.254.169.254', true],
  ['169.254.0.1', true],
  ['169.253.255.255', false],
  ['0.0.0.0', true],
  ['100.100.100.200', true],
  ['100.100.100.201', false],
  ['127.0.0.1', false],
  ['10.0.0.1', false],
  ['192.168.1.1', false],
  ['::', true],
  ['::1', false],
  ['fe80::1', true],
  ['fe80::1%eth0', true],
  ['febf::1', true],
  ['fec0::1', false],
  ['fd00:ec2::254', true],
  ['fd00::1', false],
  ['fd20:ce::254', true],
  ['::ffff:169.254.169.254', true],
  ['::ffff:a9fe:a9fe', true],
  ['::ffff:127.0.0.1', false],
  ['::169.254.169.254', true],
  ['64:ff9b::169.254.169.254', true],
  ['2002:a9fe:a9fe::1', true],
  ['2606:4700::1111', false],
  ['upstream.example', false],
]

for (const [address, reserved] of addresses)
  t.test(address, async t => {
    t.equal(isReserved(address), reserved)
  })

const urls: [url: string, reserved: boolean][] = [
  ['http://169.254.169.254/latest', true],
  ['http://2852039166/', true],
  ['http://0xA9FEA9FE/', true],
  ['http://0251.0376.0251.0376/', true],
  ['http://169.254.43518/', true],
  ['http://[::ffff:169.254.169.254]/', true],
  ['http://[fe80::1]:8080/', true],
  ['http://0/', true],
  ['http://metadata.google.internal/', true],
  ['http://METADATA.google.internal./', true],
  ['socks5://2852039166:1080', true],
  ['socks5://u:p@[fe80::1]:1080', true],
  ['socks5://127.0.0.1:1080', false],
  ['http://127.0.0.1:3999', false],
  ['http://localhost:3999', false],
  ['https://api.example/v1', false],
]

for (const [url, reserved] of urls)
  t.test(url, async t => {
    t.equal(namesReserved(url), reserved)
  })
