export function total(prices) {
  return prices.reduce((sum, price) => sum + price, 0);
}

export function count(prices) {
  return prices.length;
}
