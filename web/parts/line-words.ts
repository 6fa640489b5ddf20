/** What is charged, in words: the lines of prices and of receipts. The type of a receipt says when one has no words here. */
import type { ReceiptAnswer } from '../../lib/operations/usage/requests.ts'
import { words } from '../base/words.ts'

export const lineNames = words({
  input: ['输入', 'Input'],
  input_audio: ['音频输入', 'Sound in'],
  input_image: ['图片输入', 'Pictures in'],
  cache_read: ['缓存读取', 'Cache read'],
  cache_read_audio: ['音频缓存读取', 'Cached sound'],
  cache_read_image: ['图片缓存读取', 'Cached pictures'],
  cache_write_5m: ['缓存写入 5 分钟', 'Cache write 5 min'],
  cache_write_1h: ['缓存写入 1 小时', 'Cache write 1 h'],
  output: ['输出', 'Output'],
  output_audio: ['音频输出', 'Sound out'],
  output_image: ['图片输出', 'Pictures out'],
  image: ['图片', 'Pictures'],
  web_search: ['联网搜索', 'Web searches'],
  request: ['请求', 'Request'],
  second: ['秒', 'Seconds'],
  character: ['字符', 'Characters'],
  maps: ['地图', 'Maps'],
  code_execution: ['代码执行', 'Code execution'],
  container: [(size: string) => `容器 ${size}`, (size: string) => `Container ${size}`],
  tool: [(name: string) => `工具 ${name}`, (name: string) => `Tool ${name}`],
})

type Class = NonNullable<ReceiptAnswer['request']>['lines'][number]['class']

/** The name of a class, which for tools of the upstream has the tool in it. */
export function lineName(name: Class): string {
  if (isContainer(name)) return lineNames.container(name.slice(CONTAINER.length))
  return isTool(name) ? lineNames.tool(name.slice(TOOL.length)) : lineNames[name]()
}

const CONTAINER = 'container.'
const TOOL = 'tools.'
const isContainer = (name: Class): name is Extract<Class, `container.${string}`> => name.startsWith(CONTAINER)
const isTool = (name: Class): name is Extract<Class, `tools.${string}`> => name.startsWith(TOOL)
